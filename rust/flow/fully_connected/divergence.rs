//! `D_Q(β, β(0))` along a flow, where a theorem gives a Q: one neuron ([A] Theorem 2), and balanced networks
//! (\[A\] Proposition 1), which are one neuron of outer weight ‖a‖.

use super::units::peak;
use crate::flow::Neurons;
use crate::linalg::{Rows, length, norm};
use crate::potential::double_double::neuron::NeuronPotential;
use crate::potential::neuron;
use crate::real::{DoubleDouble, Real};

/// `Δ = aaᵀ − WWᵀ` counts as 0 below this many ulps of its terms.
const ROUND_OFF: f64 = 64.0;

/// Outer weight and hidden weights of the one neuron that a start is, if it is one, as numbers.
fn as_one_neuron(neurons: &Neurons<'_>, d: usize) -> Option<(f64, Vec<f64>)> {
    let (a, w) = (neurons.a, Rows::from_parts(neurons.w, neurons.a.len(), d));
    let unit = neurons.log_magnitude.exp();
    if let [a] = a {
        return Some((a * unit, w.row(0).iter().map(|w| w * unit).collect()));
    }
    // Balanced: W = a uᵀ with a unit vector u = Wᵀa/‖a‖².
    let size = peak(a);
    if size == 0.0 {
        return None;
    }
    let scaled: Vec<f64> = a.iter().map(|a| a / size).collect();
    // |a_i| = ‖w_i‖: most networks need no second look at all of their weights.
    let tolerance = ROUND_OFF * f64::EPSILON;
    if !scaled.iter().enumerate().all(|(i, a)| (length(w.row(i)) / size - a.abs()).abs() <= tolerance) {
        return None;
    }
    let square = length(&scaled).powi(2);
    let mut u = vec![0.0; w.d()];
    for (i, a) in scaled.iter().enumerate() {
        u.iter_mut().zip(w.row(i)).for_each(|(u, w)| *u += a * (w / size) / square);
    }
    let rank_one = scaled
        .iter()
        .enumerate()
        .all(|(i, a)| w.row(i).iter().zip(&u).all(|(w, u)| (w / size - a * u).abs() <= tolerance));
    let outer = size * square.sqrt() * unit;
    let balanced = rank_one && (length(&u) - 1.0).abs() <= tolerance;
    balanced.then(|| (outer, u.iter().map(|u| u * outer).collect()))
}

/// The divergence as a function of β.
pub(crate) type Divergence<R = f64> = Box<dyn Fn(&[R]) -> R>;

/// That of a start of `d` features, if it has one.
pub(crate) fn of(neurons: &Neurons<'_>, d: usize) -> Option<Divergence> {
    let (a, w) = as_one_neuron(neurons, d)?;
    let size = length(&w);
    let delta = if neurons.a.len() == 1 { (a.abs() - size) * (a.abs() + size) } else { 0.0 };
    let start: Vec<f64> = w.iter().map(|w| a * w).collect();
    let x0 = length(&start);
    // ∇Q(β(0)) = q'(‖β(0)‖) β(0)/‖β(0)‖, and D = D_q(‖β‖, ‖β(0)‖) + q'(‖β(0)‖) ‖β‖ (1 − cos), 1 − cos = ‖u − u₀‖²/2.
    Some(Box::new(move |beta| {
        let x = length(beta);
        let radial = neuron::bregman(x, x0, x - x0, delta);
        if x == 0.0 || x0 == 0.0 {
            return radial;
        }
        let chord: f64 = beta.iter().zip(&start).map(|(b, b0)| (b / x - b0 / x0).powi(2)).sum();
        radial + neuron::gradient(x0, delta) * x * (0.5 * chord)
    }))
}

/// The same in double-double. A network is balanced where its weights are so to binary64: they are what was given.
pub(super) fn exactly(neurons: &Neurons<'_>, d: usize) -> Option<Divergence<DoubleDouble>> {
    as_one_neuron(neurons, d)?;
    let unit = neurons.log().exp();
    let (a, w) = (neurons.outer(), neurons.hidden());
    let outer = norm(a.iter().copied());
    let mut start = vec![DoubleDouble::ZERO; d];
    for (a, w) in a.iter().zip(w.chunks_exact(d)) {
        DoubleDouble::add_multiple(*a, w, &mut start);
    }
    // Of one neuron δ = (|a| − ‖w‖)(|a| + ‖w‖); of a balanced network 0.
    let inner = if a.len() == 1 { norm(w.iter().copied()) } else { outer };
    let delta = (outer - inner) * unit * ((outer + inner) * unit);
    for beta in &mut start {
        *beta = *beta * unit * unit;
    }
    let potential = NeuronPotential { delta, linear: None };
    Some(Box::new(move |beta| potential.bregman(beta, &start)))
}
