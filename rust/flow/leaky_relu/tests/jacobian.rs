//! The structured shifted solves against the right-hand side that they are the Jacobian of.

use crate::flow::leaky_relu::segment::{Pattern, Piece, Side};
use crate::flow::leaky_relu::smooth::Smooth;
use crate::flow::leaky_relu::span::Span;
use crate::flow::leaky_relu::testing::Random;
use crate::linalg::Rows;
use crate::ode::{Implicit, ShiftedSolver, System};

/// `J v` by a central difference, which is exact to rounding for what is at most cubic up to the second power of `h`.
fn times_jacobian(flow: &mut Smooth<'_>, state: &[f64], v: &[f64]) -> Vec<f64> {
    let h = 1e-5;
    let mut sides = [vec![0.0; state.len()], vec![0.0; state.len()]];
    for (side, sign) in sides.iter_mut().zip([h, -h]) {
        let there: Vec<f64> = state.iter().zip(v).map(|(y, v)| y + sign * v).collect();
        flow.rhs(0.0, &there, side);
    }
    sides[0].iter().zip(&sides[1]).map(|(a, b)| (a - b) / (2.0 * h)).collect()
}

#[test]
fn shifted_systems_are_solved_for_neurons_that_slide_and_in_units_of_their_own() {
    let mut random = Random::new(11);
    let (n, d, slope) = (5, 7, 0.3);
    let (x, y) = (random.vector(n * d), random.vector(n));
    let Some(rows) = Rows::new(&x, n, d) else { panic!() };
    let span = Span::new(rows, &y, true);
    let mut piece = |sliding: &[usize]| {
        let mut sides: Vec<Side> = (0..n).map(|_| Side::of(random.number())).collect();
        for g in sliding {
            sides[*g] = Side::Sliding;
        }
        Piece::new(&span, slope, Pattern { sides, held: Vec::new() })
    };
    let pieces = [piece(&[]), piece(&[1, 3]), piece(&[0])];
    let gains = [1.0, 0.25, 1e-30];
    let mut flow = Smooth::new(&span, &pieces, &gains, 1e-10, vec![0.0; 3], vec![(0.0, 0.0); 3]);
    let width = 1 + span.k;
    let mut state = random.vector(3 * width);
    for (neuron, piece) in state.chunks_exact_mut(width).zip(&pieces) {
        piece.slide.remove(&mut neuron[1..]);
    }
    let mut solver = flow.new_solver();
    assert!(flow.jacobian(0.0, &state, &mut solver));
    for (slot, (re, im)) in [(2.0, 0.0), (3.0, 1.5), (-0.7, 4.0)].into_iter().enumerate() {
        // Right-hand sides of the flow never leave the kinks that are slid along.
        let [b, c] = [random.vector(3 * width), random.vector(3 * width)].map(|mut b| {
            for (neuron, piece) in b.chunks_exact_mut(width).zip(&pieces) {
                piece.slide.remove(&mut neuron[1..]);
            }
            b
        });
        let (mut x, mut z) = (b.clone(), c.clone());
        if im == 0.0 {
            assert!(solver.prepare_real(re));
            solver.solve_real(&mut x);
            solver.solve_real(&mut z);
        } else {
            assert!(solver.prepare_complex(slot - 1, re, im));
            solver.solve_complex(slot - 1, &mut x, &mut z);
        }
        let (jx, jz) = (times_jacobian(&mut flow, &state, &x), times_jacobian(&mut flow, &state, &z));
        for k in 0..b.len() {
            // Differences lose h² = 1e-10 of third derivatives of size 1 and ε/h = 2e-11 to rounding.
            assert!((re * x[k] - im * z[k] - jx[k] - b[k]).abs() < 1e-8, "shift {re} + {im}i, row {k}");
            assert!((re * z[k] + im * x[k] - jz[k] - c[k]).abs() < 1e-8, "shift {re} + {im}i, row {k}");
        }
    }
}
