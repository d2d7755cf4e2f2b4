use super::*;

const DEPTHS: [u32; 7] = [2, 3, 4, 5, 8, 30, 100];

/// Sizes from 1e-300 to 1e300.
fn sizes() -> impl Iterator<Item = f64> {
    (-60..=60).map(|k| 1.37 * 10.0_f64.powi(5 * k))
}

fn relative(found: Scaled, wanted: Scaled) -> f64 {
    ((found - wanted) / wanted).abs().value().high
}

#[test]
fn the_inverse_is_undone_by_the_function_to_thirty_digits() {
    for depth in DEPTHS.map(Depth::new) {
        for x in sizes() {
            let wanted = Scaled::from(x);
            // Logarithms of up to 690 are multiplied by e = 3 at most: 2000 units of 2^-104 are 1e-28.
            let error = relative(depth.h(depth.inverse(wanted)), wanted);
            assert!(error < 1e-27, "depth {}, x = {x:e}: {error:e}", depth.depth());
        }
    }
}

#[test]
fn the_functions_are_odd_and_even_to_the_bit() {
    for depth in DEPTHS.map(Depth::new) {
        for x in sizes() {
            let (there, back) = (depth.inverse(Scaled::from(x)), depth.inverse(Scaled::from(-x)));
            assert_eq!(there.z.value().high, -back.z.value().high);
            assert_eq!(depth.q(Scaled::from(x), there).value().high, depth.q(Scaled::from(-x), back).value().high);
        }
    }
}

#[test]
fn the_value_and_its_conjugate_meet_in_the_product_of_their_arguments() {
    for depth in DEPTHS.map(Depth::new) {
        for x in sizes() {
            let arc = depth.inverse(Scaled::from(x));
            let sum = depth.q(Scaled::from(x), arc) + depth.conjugate(arc);
            assert!(relative(sum, Scaled::from(x) * arc.z) < 1e-26, "depth {}, x = {x:e}", depth.depth());
        }
    }
}

#[test]
fn the_integral_of_the_inverse_is_the_value() {
    // Simpson's rule on a segment of a thousandth: its error is 1e-15 of the difference, q's own 1e-30 of q, 1e3 larger.
    for depth in DEPTHS.map(Depth::new) {
        for x in [1e-8, 1e-3, 0.4, 1.7, 55.0, 1e9] {
            let (low, high) = (Scaled::from(x), Scaled::from(DoubleDouble::from(x).mul_f64(1.001)));
            let middle = (low + high) * Scaled::from(0.5);
            let at = |x: Scaled| depth.inverse(x).z;
            let mean = (at(low) + at(middle) * Scaled::from(4.0) + at(high)) / Scaled::from(6.0);
            let grown = depth.q(high, depth.inverse(high)) - depth.q(low, depth.inverse(low));
            assert!(relative(grown, mean * (high - low)) < 1e-13, "depth {}, x = {x:e}", depth.depth());
        }
    }
}

#[test]
fn the_divergence_of_close_points_is_that_of_the_plain_formula_where_it_still_has_digits() {
    for depth in DEPTHS.map(Depth::new) {
        for x in [-3.0, -1e-9, 0.0, 0.02, 1.0, 1e6] {
            let (start, gap) = (Scaled::from(x), Scaled::from(0.049 * (1.0 + x.abs())));
            let plain = depth.q(start + gap, depth.inverse(start + gap))
                - (depth.q(start, depth.inverse(start)) + depth.inverse(start).z * gap);
            let found = divergence::bregman(depth, start, gap);
            // The plain formula loses what the divergence is below its terms: up to 1e10 of 1e-31, and a few roundings.
            let loss = relative(depth.q(start + gap, depth.inverse(start + gap)), plain).max(1.0);
            assert!(relative(found, plain) < 1e-29 * loss, "depth {}, x = {x:e}, {loss}", depth.depth());
        }
    }
}

#[test]
fn a_scale_of_ten_to_the_minus_one_hundred_thousand_is_an_ordinary_number() {
    let log_start = DoubleDouble::from(-230_258.5);
    for depth in [3, 5, 8].map(Depth::new) {
        let potential = DepthPotential { depth, log_start };
        // Far above its start, Q(β) = (αw)^{2−D} (|β| − (D/2) (αw)^{D−2} |β|^{2/D} + …).
        let found = potential.value(DoubleDouble::from(-0.3)) * potential.power(f64::from(depth.depth()) - 2.0);
        assert!(relative(found, Scaled::from(0.3)) < 1e-15);
        assert!(potential.value(DoubleDouble::from(1.0)).is_finite());
    }
}
