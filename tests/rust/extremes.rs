//! The public entry points on numbers at the ends of binary64: no panic, and nothing unknown is called an answer.
//!
//! What an answer must be is tested elsewhere; here only that each of them is one or says that it is none, whatever the
//! sizes of data and starts, the zeros in them, and the rows that depend on each other.

use implicit_bias::flow::diagonal::{Problem, Weights as RawWeights, gradient_flow};
use implicit_bias::flow::{Method, Options as FlowOptions};
use implicit_bias::limit::diagonal::{Limit, Options, check, distance_bound, limit, limit_path};
use implicit_bias::linalg::Rows;
use implicit_bias::potential::{HyperbolicEntropy, Start, Weights, hyperbolic_entropy};
use proptest::prelude::*;

/// Trial steps of a flow, enough to leave the start and to converge where that is easy.
const STEPS: u64 = 40;

/// Any finite number, and more often those at which functions change their way.
fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -3.0..3.0_f64,
        2 => prop::sample::select(vec![0.0, 1.0, -1.0, 2.0]),
        1 => prop::sample::select(vec![5e-324, 1e-300, -1e-150, 1e-8, 1e8, 1e150, -1e300, f64::MAX]),
        1 => any::<f64>().prop_filter("finite", |v| v.is_finite()),
    ]
}

fn logarithm() -> impl Strategy<Value = f64> {
    prop_oneof![
        3 => -30.0..5.0_f64,
        1 => -1e5..1e5_f64,
        1 => prop::sample::select(vec![0.0, -230_258.5, 690.7, 709.7, 712.0, -745.1, 1e12, -1e12]),
    ]
}

/// Data and weights that own their numbers.
#[derive(Clone, Debug)]
struct Case {
    n: usize,
    d: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    weights: [Vec<f64>; 4],
    log_magnitude: Vec<f64>,
}

impl Case {
    fn rows(&self) -> Rows<'_> {
        let Some(rows) = Rows::new(&self.x, self.n, self.d) else { panic!("{} x {}", self.n, self.d) };
        rows
    }

    fn start(&self) -> Start {
        let [u_plus, v_plus, u_minus, v_minus] = &self.weights;
        Start::from_weights((0..self.d).map(|i| Weights {
            u_plus: u_plus[i],
            v_plus: v_plus[i],
            u_minus: u_minus[i],
            v_minus: v_minus[i],
            log_magnitude: self.log_magnitude[i],
        }))
    }

    fn raw(&self) -> RawWeights<'_> {
        let [u_plus, v_plus, u_minus, v_minus] = &self.weights;
        RawWeights { u_plus, v_plus, u_minus, v_minus, log_magnitude: &self.log_magnitude }
    }
}

/// Up to three samples of up to four features; `kind` makes starts unbiased or one-sided, and rows repeat each other.
fn case() -> impl Strategy<Value = Case> {
    (1..=3_usize, 1..=4_usize, 0..3_u8, any::<bool>()).prop_flat_map(|(n, d, kind, repeat)| {
        let vector = |len| prop::collection::vec(number(), len);
        let weights = [vector(d), vector(d), vector(d), vector(d)];
        (vector(n * d), vector(n), weights, prop::collection::vec(logarithm(), d)).prop_map(
            move |(mut x, y, mut weights, log_magnitude)| {
                if repeat {
                    let first = x[..d].to_vec();
                    x.chunks_exact_mut(d).for_each(|row| row.copy_from_slice(&first));
                }
                if kind > 0 {
                    // u₋ = u₊ and v₋ = v₊, or u₊ = v₊ and u₋ = v₋ of the other sign.
                    let [u_plus, v_plus, u_minus, v_minus] = &mut weights;
                    if kind == 1 {
                        u_minus.clone_from(u_plus);
                        v_minus.clone_from(v_plus);
                    } else {
                        v_plus.clone_from(u_plus);
                        *v_minus = u_minus.iter().map(|u| -u).collect();
                    }
                }
                Case { n, d, x, y, weights, log_magnitude }
            },
        )
    })
}

/// No NaN anywhere, and finite where it is an answer.
fn says_what_it_knows(found: &Limit) -> Result<(), TestCaseError> {
    let c = &found.conditions;
    let conditions = [c.stationarity, c.feasibility, c.duality_gap, c.potential_value];
    let bound = found.error_bound.as_deref().unwrap_or(&[]);
    let sizes = bound.iter().chain(&found.backward_error).chain(&conditions);
    prop_assert!(sizes.copied().all(|v| v >= 0.0), "a size is negative or NaN: {found:?}");
    prop_assert!(!found.beta.iter().chain(&found.multipliers).any(|v| v.is_nan()), "{found:?}");
    if found.status.success() {
        let must = found.beta.iter().chain(&found.backward_error).chain(&conditions[..2]);
        prop_assert!(must.copied().all(f64::is_finite), "{found:?}");
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_limit_is_finite_or_no_success(case in case(), bounds in any::<bool>()) {
        let options = Options { bounds, ..Options::default() };
        let found = limit(case.rows(), &case.y, &case.start(), &options, &|| false);
        says_what_it_knows(&found)?;
        prop_assert_eq!(found.error_bound.is_some(), bounds);
    }

    #[test]
    fn every_limit_of_a_path_is_finite_or_no_success(case in case(), shifts in prop::collection::vec(-50.0..50.0_f64, 1..4)) {
        let starts: Vec<Start> = shifts
            .iter()
            .map(|shift| {
                let log_magnitude = case.log_magnitude.iter().map(|log| log + shift).collect();
                Case { log_magnitude, ..case.clone() }.start()
            })
            .collect();
        let path = limit_path(case.rows(), &case.y, &starts, &Options::default(), &|| false);
        prop_assert_eq!(path.len(), starts.len());
        path.iter().try_for_each(says_what_it_knows)?;
    }

    #[test]
    fn any_predictor_can_be_checked(case in case(), seed in prop::collection::vec(number(), 4)) {
        let beta = &seed[..case.d];
        let report = check(case.rows(), &case.y, &case.start(), beta, &|| false);
        let c = report.conditions;
        let sizes = report.error_bound.iter().chain(&report.backward_error);
        prop_assert!(sizes.chain([&c.stationarity, &c.feasibility, &c.duality_gap]).all(|v| *v >= 0.0), "{report:?}");
        prop_assert!(!report.multipliers.iter().any(|nu| nu.is_nan()), "{report:?}");
        prop_assert!(distance_bound(beta, &report.limit).iter().all(|bound| *bound >= 0.0));
    }

    #[test]
    fn a_flow_ends_and_what_it_calls_stationary_is_a_number(
        case in case(),
        method in prop::sample::select(vec![Method::Auto, Method::Radau, Method::Explicit]),
        horizon in prop::option::of(0.0..1e3_f64),
    ) {
        let (start, times) = (case.start(), horizon.map(|t| [t]));
        let problem = Problem { x: case.rows(), y: &case.y, y_low: None, start: (&start).into(), weights: Some(case.raw()) };
        let times = times.as_ref().map(<[f64; 1]>::as_slice);
        let options = FlowOptions { times, method, max_steps: Some(STEPS), ..FlowOptions::default() };
        if let Ok(flow) = gradient_flow(&problem, &options, &|| false) {
            prop_assert_eq!(flow.beta.len(), flow.times.len() * case.d);
            prop_assert_eq!(flow.loss.len(), flow.times.len());
            if flow.status.is_stationary() {
                prop_assert!(!flow.beta.iter().chain(&flow.loss).any(|v| v.is_nan()), "{flow:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_potential_is_never_negative_and_never_nan_where_it_is_defined(
        weights in prop::array::uniform4(number()),
        log_magnitude in logarithm(),
        beta in number(),
        beta0 in number(),
        log_kappa in logarithm(),
    ) {
        let [u_plus, v_plus, u_minus, v_minus] = weights;
        let start = Start::from_weights([Weights { u_plus, v_plus, u_minus, v_minus, log_magnitude }]);
        let q = HyperbolicEntropy { log_a: start.log_a[0].high, log_b: start.log_b[0].high };
        prop_assert!(!q.start().is_nan(), "{q:?}");
        let value = q.value(beta);
        prop_assert!(value >= 0.0, "{q:?} at {beta}: {value}");
        if value.is_finite() {
            prop_assert!(!q.gradient(beta).is_nan() && q.hessian(beta) >= 0.0, "{q:?} at {beta}");
        }
        for function in [hyperbolic_entropy::value, hyperbolic_entropy::hessian, hyperbolic_entropy::conjugate] {
            prop_assert!(function(beta, log_kappa) >= 0.0, "at {beta}, ln kappa {log_kappa}");
        }
        prop_assert!(!hyperbolic_entropy::gradient(beta, log_kappa).is_nan());
        prop_assert!(hyperbolic_entropy::bregman(beta, beta0, log_kappa) >= 0.0, "{beta} from {beta0}, {log_kappa}");
    }
}
