//! Laws that thirty digits hold to thirty digits: what the flow conserves, kinks that are reached, roots in closed form.

use crate::flow::leaky_relu::testing::Random;
use crate::flow::leaky_relu::{Problem, gradient_flow, parameters};
use crate::flow::{EventKind, Flow, Method, Neurons, Options, Precision, Status};
use crate::linalg::{Rows, norm};
use crate::real::{DoubleDouble, Real};

const SLOPE: f64 = 0.2;
const EXACTLY: Options<'static> = Options {
    times: None,
    time_unit: 1.0,
    rtol: 1e-28,
    tol: 1e-29,
    precision: Precision::DoubleDouble,
    method: Method::Auto,
    max_steps: None,
    max_seconds: None,
    max_events: None,
    observables: &[],
    end: &[],
    end_low: &[],
    save_beta: true,
};

/// Three neurons on six samples of nine features, and on more samples than features.
struct Case {
    n: usize,
    d: usize,
    x: Vec<f64>,
    y: Vec<f64>,
    a: Vec<f64>,
    w: Vec<f64>,
}

impl Case {
    fn new(seed: u64, n: usize, d: usize) -> Self {
        let mut random = Random::new(seed);
        let (x, y) = (random.vector(n * d), random.vector(n));
        Self { n, d, x, y, a: random.vector(3), w: random.vector(3 * d) }
    }

    fn problem(&self) -> Problem<'_> {
        let x = Rows::from_parts(&self.x, self.n, self.d);
        Problem { x, y: &self.y, y_low: None, start: Neurons::new(&self.a, &self.w, 0.0), slope: SLOPE }
    }

    fn flow(&self, options: &Options<'_>) -> Flow {
        match gradient_flow(&self.problem(), options, &|| false) {
            Ok(flow) => flow,
            Err(invalid) => panic!("{invalid}"),
        }
    }

    /// `(a_i, w_i)` of every neuron in every row.
    fn weights(&self, flow: &Flow) -> Vec<(DoubleDouble, Vec<DoubleDouble>)> {
        let found = parameters(&self.problem(), Method::Auto, Precision::DoubleDouble, &flow.states, &flow.states_low);
        let Ok(found) = found else { panic!("{found:?}") };
        let join = |high: &[f64], low: &[f64]| -> Vec<DoubleDouble> {
            high.iter().zip(low).map(|(high, low)| DoubleDouble::from_parts(*high, *low)).collect()
        };
        let (a, w) = (join(&found.a, &found.a_low), join(&found.w, &found.w_low));
        a.into_iter().zip(w.chunks_exact(self.d).map(<[_]>::to_vec)).collect()
    }
}

fn delta((a, w): &(DoubleDouble, Vec<DoubleDouble>)) -> DoubleDouble {
    let size = norm(w.iter().copied());
    (a.abs() - size) * (a.abs() + size)
}

#[test]
fn the_balance_of_every_neuron_is_conserved_to_twenty_eight_digits_through_crossings_and_slides() {
    let mut kinds = [0; 2];
    for (seed, n, d) in [(1, 6, 9), (2, 6, 9), (3, 6, 9), (4, 5, 3), (5, 5, 3)] {
        let case = Case::new(seed, n, d);
        let flow = case.flow(&Options { times: Some(&[0.0, 0.5, 2.0, 8.0, 30.0]), ..EXACTLY });
        assert_eq!(flow.status, Status::ReachedEnd);
        for event in &flow.events {
            kinds[usize::from(event.kind == EventKind::StartsSliding)] += 1;
        }
        let weights = case.weights(&flow);
        for row in weights.chunks_exact(3) {
            for (now, first) in row.iter().zip(&weights[..3]) {
                let terms = now.0 * now.0 + norm(now.1.iter().copied()) * norm(now.1.iter().copied());
                let drift = ((delta(now) - delta(first)) / terms).high.abs();
                // Dozens of steps, each within a tenth of 1e-28 of the weights.
                assert!(drift < 1e-28, "seed {seed}: {drift:e}");
            }
        }
    }
    assert!(kinds[0] > 10 && kinds[1] > 3, "{kinds:?}");
}

#[test]
fn a_run_that_ends_at_an_event_ends_on_the_kink_to_the_last_digits() {
    let mut seen = 0;
    for seed in 1..6 {
        let case = Case::new(seed, 6, 9);
        for most in 1..8 {
            let flow = case.flow(&Options { max_events: Some(most), ..EXACTLY });
            let Some(event) = flow.events.last().filter(|_| flow.status == Status::MaxEvents) else { break };
            let reached = matches!(event.kind, EventKind::Crosses | EventKind::StartsSliding);
            let weights = case.weights(&flow);
            let (_, w) = &weights[weights.len() - 3 + event.neuron];
            let row = &case.x[event.sample * case.d..(event.sample + 1) * case.d];
            let size = norm(row.iter().copied()) * norm(w.iter().map(|w| w.high));
            let p = DoubleDouble::dot(row, w).high.abs() / size;
            // A product of nine terms in units of 2^-104, the weights as they are told, and 4 units of the time.
            assert!(!reached || p < 200.0 * DoubleDouble::UNIT_ROUNDOFF, "seed {seed}, event {most}: {p:e}");
            seen += usize::from(reached);
        }
    }
    assert!(seen > 15, "{seen}");
}

#[test]
fn a_vanishing_start_in_closed_form_is_the_one_that_is_integrated_kinks_included() {
    let times = [0.5, 1.0, 2.0, 3.0];
    let mut crossed = 0;
    for seed in 1..13 {
        let case = Case::new(seed, 4, 6);
        // f is 2^-104 of y and integrated, or 2^-300 of it, and in closed form until then.
        let [near, far] = [-52, -150].map(|exponent| {
            let unit = 2.0_f64.powi(exponent);
            let scaled = |v: &[f64]| v.iter().map(|v| v * unit).collect();
            let small = Case { a: scaled(&case.a), w: scaled(&case.w), x: case.x.clone(), y: case.y.clone(), ..case };
            (small.flow(&Options { times: Some(&times), ..EXACTLY }), unit)
        });
        crossed += far.0.events.len();
        let events = |flow: &Flow| flow.events.iter().map(|e| (e.neuron, e.sample, e.kind)).collect::<Vec<_>>();
        assert_eq!(events(&near.0), events(&far.0));
        let betas = near.0.beta.chunks_exact(6).zip(near.0.beta_low.chunks_exact(6));
        let others = far.0.beta.chunks_exact(6).zip(far.0.beta_low.chunks_exact(6));
        for ((high, low), (other_high, other_low)) in betas.zip(others) {
            let part = |v: f64, unit: f64| v / unit / unit;
            let size = norm(high.iter().map(|v| part(*v, near.1)));
            for i in 0..6 {
                let a = DoubleDouble::from_parts(part(high[i], near.1), part(low[i], near.1));
                let b = DoubleDouble::from_parts(part(other_high[i], far.1), part(other_low[i], far.1));
                // The error of the steps of the one, and what f adds to its residual: e^(2ηt) 2^-104 after a time t.
                assert!(((a - b).high / size).abs() < 3e-28, "seed {seed}: {:e}", (a - b).high / size);
            }
        }
    }
    assert!(crossed > 10, "{crossed}");
}
