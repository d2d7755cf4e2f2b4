//! Double-double numbers as pairs of arrays: decimal text in, and the functions of the core one by one.

use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::convert::{Parts, double_doubles, parts};
use crate::real::{DoubleDouble, ParseDoubleDoubleError, Real};

/// ln 10: rounded to 80 digits and split.
const LN_10: DoubleDouble = DoubleDouble { high: core::f64::consts::LN_10, low: -2.170_756_223_382_249_4e-16 };

/// A function by its name in Python, elementwise: one pair of arrays an argument, all of one length.
#[pyfunction]
pub fn double_double<'py>(
    py: Python<'py>,
    name: &str,
    arguments: Vec<(PyReadonlyArray1<'py, f64>, PyReadonlyArray1<'py, f64>)>,
) -> PyResult<Parts> {
    let arguments: PyResult<Vec<_>> = arguments.iter().map(|(high, low)| double_doubles(high, low)).collect();
    let values: Option<Vec<_>> = match &arguments?[..] {
        [x] => unary(name).map(|f| x.iter().map(|x| f(*x)).collect()),
        [x, y] => binary(name).map(|f| x.iter().zip(y).map(|(x, y)| f(*x, *y)).collect()),
        _ => None,
    };
    let values = values.ok_or_else(|| PyValueError::new_err(format!("no function {name} of so many arguments")))?;
    Ok(parts(py, &values))
}

fn unary(name: &str) -> Option<fn(DoubleDouble) -> DoubleDouble> {
    Some(match name {
        "sqrt" => Real::sqrt,
        "exp" => Real::exp,
        "expm1" => Real::exp_m1,
        "log" => Real::ln,
        "log1p" => Real::ln_1p,
        "sinh" => Real::sinh,
        "cosh" => Real::cosh,
        "asinh" => Real::asinh,
        _ => return None,
    })
}

fn binary(name: &str) -> Option<fn(DoubleDouble, DoubleDouble) -> DoubleDouble> {
    Some(match name {
        "add" => |x, y| x + y,
        "sub" => |x, y| x - y,
        "mul" => |x, y| x * y,
        "div" => |x, y| x / y,
        "pow" => DoubleDouble::pow,
        _ => return None,
    })
}

/// The numbers nearest to decimal texts; ±inf and ±0 beyond the range of binary64.
#[pyfunction]
pub fn read_double_double(py: Python<'_>, texts: Vec<String>) -> PyResult<Parts> {
    let read = |text: &String| {
        text.parse().map_err(|invalid: ParseDoubleDoubleError| PyValueError::new_err(invalid.to_string()))
    };
    let values: PyResult<Vec<DoubleDouble>> = texts.iter().map(read).collect();
    Ok(parts(py, &values?))
}

/// `ln(x · 2^twos · 10^tens)`, of numbers that binary64 need not be able to hold.
#[pyfunction]
pub fn log_scaled<'py>(
    py: Python<'py>,
    high: PyReadonlyArray1<'py, f64>,
    low: PyReadonlyArray1<'py, f64>,
    twos: PyReadonlyArray1<'py, f64>,
    tens: PyReadonlyArray1<'py, f64>,
) -> PyResult<Parts> {
    let powers = twos.as_slice()?.iter().zip(tens.as_slice()?);
    let numbers = double_doubles(&high, &low)?;
    let log = |(x, (twos, tens)): (&DoubleDouble, (&f64, &f64))| {
        x.ln() + (DoubleDouble::LN_2.mul_f64(*twos) + LN_10.mul_f64(*tens))
    };
    let logs: Vec<DoubleDouble> = numbers.iter().zip(powers).map(log).collect();
    Ok(parts(py, &logs))
}
