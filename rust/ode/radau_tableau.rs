/// Radau IIA with its linear algebra, in the numbers of the state.
#[derive(Clone, Debug)]
pub struct RadauTableau<R> {
    /// The nodes `c_1 < … < c_s = 1`.
    pub nodes: Vec<R>,
    /// `A⁻¹`, row by row.
    pub inverse: Vec<R>,
    /// `w` with `p'(0) = Σ w_j z_j / h` for the collocation polynomial `p` through the increments `z`.
    pub left_slope: Vec<R>,
    /// The real eigenvalue `γ` of `A⁻¹`.
    pub real_shift: f64,
    /// One `(α, β)`, `β > 0`, for each pair `α ± iβ` of eigenvalues of `A⁻¹`.
    pub complex_shifts: Vec<(f64, f64)>,
    /// `T`, row by row: `A⁻¹ T = T Λ` with `Λ = diag(γ, [α −β; β α], …)`.
    pub from_modes: Vec<f64>,
    /// `T⁻¹`, row by row.
    pub to_modes: Vec<f64>,
}

impl<R: Real> RadauTableau<R> {
    /// The method with 3, 5 or 7 stages; order `2s − 1`. Other numbers are taken for the next smaller of these.
    #[must_use]
    pub fn of_stages(stages: usize) -> Self {
        match stages {
            ..5 => Self::new(&RADAU_5),
            5..7 => Self::new(&RADAU_9),
            _ => Self::new(&RADAU_13),
        }
    }

    fn new<const S: usize, const P: usize>(data: &Coefficients<S, P>) -> Self {
        let real = |pair: &Pair| R::from_parts(pair.0, pair.1);
        Self {
            nodes: data.nodes.iter().map(real).collect(),
            inverse: data.inverse.as_flattened().iter().map(real).collect(),
            left_slope: data.left_slope.iter().map(real).collect(),
            real_shift: data.real_shift,
            complex_shifts: data.complex_shifts.to_vec(),
            from_modes: data.from_modes.as_flattened().to_vec(),
            to_modes: data.to_modes.as_flattened().to_vec(),
        }
    }

    /// Number of stages `s`.
    #[must_use]
    pub fn stages(&self) -> usize {
        self.nodes.len()
    }
}

