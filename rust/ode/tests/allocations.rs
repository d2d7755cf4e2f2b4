//! Steps allocate nothing: a run of many steps allocates exactly as often as a run of few.

use super::super::{Action, EventFinder, Explicit, Implicit, Options, Radau, Step, Stepper, System, integrate};
use super::only;
use super::stiff::van_der_pol;
use allocation_counter::measure;

/// How often a run to `t_end` allocates, output and event location in every step included, and its accepted steps.
fn allocations<S: System<f64>, M: Stepper<f64, S>>(
    make_system: impl Fn() -> S,
    make_stepper: impl Fn(&S) -> M,
    t_end: f64,
    options: &Options,
) -> (u64, u64) {
    let mut accepted = 0;
    let count = measure(|| {
        let mut system = make_system();
        let mut stepper = make_stepper(&system);
        let mut finder = EventFinder::new(1);
        let mut observe = |system: &mut S, step: &mut Step<'_, f64, S>| {
            let (from, to, mut y) = (step.t_old(), step.t_new, [0.0; 2]);
            step.refined_at(system, 0.5 * (from + to), &mut y, &mut || false);
            let _event = finder.find(from, to, |t, guards| {
                step.at(system, t, &mut y);
                guards[0] = y[0];
            });
            Action::Continue
        };
        let end = integrate(&mut stepper, &mut system, 0.0, &[2.0, 0.0], t_end, options, &mut observe);
        accepted = end.map_or(0, |end| end.stats.accepted);
    });
    (count.count_total, accepted)
}

fn assert_setup_only<S: System<f64>, M: Stepper<f64, S>>(
    make_system: impl Fn() -> S + Copy,
    make_stepper: impl Fn(&S) -> M + Copy,
    options: &Options,
) {
    let (few, short) = allocations(make_system, make_stepper, 0.1, options);
    let (many, long) = allocations(make_system, make_stepper, 2.0, options);
    assert!(long > short + 20, "{short} and {long} steps do not tell");
    assert_eq!(few, many, "{short} and {long} steps");
}

#[test]
fn an_implicit_step_allocates_nothing() {
    fn check<S: Implicit<f64>>(make: impl Fn() -> S + Copy) {
        for stages in [3, 5, 7, 9, 11] {
            let options = only(stages, 1e-6);
            assert_setup_only(make, |system| Radau::new(system, &options), &options);
        }
    }
    check(|| van_der_pol(1e-3, 1e-6));
}

#[test]
fn an_explicit_step_allocates_nothing() {
    let options = only(7, 1e-6);
    assert_setup_only(|| van_der_pol(1e-2, 1e-6), |system| Explicit::new(system, &options), &options);
}
