//! What a caller may set, each with its meaning, its default and the interval it must lie in.

use core::fmt;

/// Settings of one integration. The tolerance of the solution is not among them: it is in the problem's
/// [`error_norm`](super::System::error_norm).
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Relative tolerance that `error_norm(e) = 1` stands for. Only Radau asks: it says how far the round-off of a
    /// state is below the tolerance, and how much coarser the estimate of a method may be than its error.
    /// In [1e-31, 0.1]; 1e-6 by default.
    pub rtol: f64,
    /// Length of the first step. Above 0; by default chosen from the problem.
    pub first_step: Option<f64>,
    /// Longest step. Above 0, may be infinite; infinite by default.
    pub max_step: f64,
    /// Most trial steps, accepted or rejected. At least 1; by default there is no limit.
    pub max_steps: Option<u64>,
    /// Fewest stages of Radau IIA: 3, 5, 7, 9 or 11 (order 5 to 21); 3 by default.
    pub min_stages: usize,
    /// Most stages of Radau IIA: 3, 5, 7, 9 or 11, and at least `min_stages`; 11 by default. There are never more than suit the
    /// tolerance (and `min_stages` asks for): 3 above 1e-4, 5 above 1e-7, 7 above 1e-15, 9 above 1e-18.
    pub max_stages: usize,
    /// A Jacobian serves the next step too if Newton's convergence rate was below this. In [0, 1); 1e-3 by default,
    /// more where a Jacobian costs many evaluations of the right-hand side.
    pub reuse_jacobian_below: f64,
    /// End with [`Status::Stiff`](super::Status::Stiff) when the explicit method is held back by stability.
    /// False by default.
    pub stop_when_stiff: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            rtol: 1e-6,
            first_step: None,
            max_step: f64::INFINITY,
            max_steps: None,
            min_stages: 3,
            max_stages: 11,
            reuse_jacobian_below: 1e-3,
            stop_when_stiff: false,
        }
    }
}

/// A setting outside its interval.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidOption {
    /// Name of the field or argument.
    pub name: &'static str,
    /// The value found.
    pub found: f64,
    /// What is allowed, in words.
    pub expected: &'static str,
}

impl fmt::Display for InvalidOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} must be {}: got {}", self.name, self.expected, self.found)
    }
}

impl core::error::Error for InvalidOption {}

impl Options {
    /// The first setting that is outside its interval.
    ///
    /// # Errors
    /// [`InvalidOption`] names it, its value and what is allowed.
    pub fn validate(&self) -> Result<(), InvalidOption> {
        let stages = |n: usize| matches!(n, 3 | 5 | 7 | 9 | 11);
        let first = self.first_step.unwrap_or(1.0);
        let steps = self.max_steps.unwrap_or(1);
        let rules = [
            ("rtol", self.rtol, (1e-31..=0.1).contains(&self.rtol), "in [1e-31, 0.1]"),
            ("first_step", first, first > 0.0 && first.is_finite(), "positive and finite"),
            ("max_step", self.max_step, self.max_step > 0.0, "positive"),
            ("max_steps", steps as f64, steps >= 1, "at least 1"),
            ("min_stages", self.min_stages as f64, stages(self.min_stages), "3, 5, 7, 9 or 11"),
            (
                "max_stages",
                self.max_stages as f64,
                stages(self.max_stages) && self.max_stages >= self.min_stages,
                "3, 5, 7, 9 or 11 and at least min_stages",
            ),
            (
                "reuse_jacobian_below",
                self.reuse_jacobian_below,
                (0.0..1.0).contains(&self.reuse_jacobian_below),
                "in [0, 1)",
            ),
        ];
        match rules.into_iter().find(|rule| !rule.2) {
            None => Ok(()),
            Some((name, found, _, expected)) => Err(InvalidOption { name, found, expected }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_settings_are_valid() {
        assert_eq!(Options::default().validate(), Ok(()));
    }

    #[test]
    fn every_setting_outside_its_interval_is_named_with_its_value_and_what_is_allowed() {
        let base = Options::default;
        let table = [
            (Options { rtol: 0.2, ..base() }, "rtol must be in [1e-31, 0.1]: got 0.2"),
            (Options { rtol: f64::NAN, ..base() }, "rtol must be in [1e-31, 0.1]: got NaN"),
            (Options { first_step: Some(0.0), ..base() }, "first_step must be positive and finite: got 0"),
            (Options { first_step: Some(f64::INFINITY), ..base() }, "first_step must be positive and finite: got inf"),
            (Options { max_step: -1.0, ..base() }, "max_step must be positive: got -1"),
            (Options { max_step: f64::NAN, ..base() }, "max_step must be positive: got NaN"),
            (Options { max_steps: Some(0), ..base() }, "max_steps must be at least 1: got 0"),
            (Options { min_stages: 4, ..base() }, "min_stages must be 3, 5, 7, 9 or 11: got 4"),
            (
                Options { min_stages: 7, max_stages: 5, ..base() },
                "max_stages must be 3, 5, 7, 9 or 11 and at least min_stages: got 5",
            ),
            (Options { reuse_jacobian_below: 1.0, ..base() }, "reuse_jacobian_below must be in [0, 1): got 1"),
        ];
        for (options, message) in table {
            let Err(error) = options.validate() else { panic!("accepted where it should say: {message}") };
            assert_eq!(error.to_string(), message);
        }
    }
}
