//! A piece of the flow on which no pre-activation changes its side: slopes, slides, and the slope of a sample that slides.
//!
//! Between events the flow is that of a linear network: with `C_i` the slopes of the samples off their kinks (0 on them)
//! and `P_i` the projection that takes out the rows on which neuron i slides, `f = Σ_i a_i C_i X̃P_i u_i`. Sliding means
//! `X̃_Z u' = 0`, and `u_i' = (a_i/N) P_i X̃ᵀC_i r` says so for dependent rows as well, where the slopes are not unique.
//!
//! # Source
//! Filippov, *Differential Equations with Discontinuous Righthand Sides*, 1988, §4; THEORY §5.

use super::columns::Columns;
use super::number::Number;
use super::span::Span;

/// Where a pre-activation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// `p < 0`.
    Negative,
    /// `p = 0`, and it stays there.
    Sliding,
    /// `p > 0`.
    Positive,
}

impl Side {
    /// The sign of p.
    pub(super) fn sign(self) -> f64 {
        match self {
            Self::Negative => -1.0,
            Self::Sliding => 0.0,
            Self::Positive => 1.0,
        }
    }

    /// The other side.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Negative => Self::Positive,
            Self::Sliding => Self::Sliding,
            Self::Positive => Self::Negative,
        }
    }

    /// The side that `x` is on.
    pub(super) fn of<R: Number>(x: R) -> Self {
        if x > R::ZERO { Self::Positive } else { Self::Negative }
    }
}

/// The pattern of one neuron: a side for every kink, and the slopes of kinks that slide but cannot be told apart from
/// others that do (their rows depend on them).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pattern {
    pub(super) sides: Vec<Side>,
    pub(super) held: Vec<(usize, f64)>,
}

/// One neuron in one segment.
#[derive(Clone, Debug)]
pub(super) struct Piece<R = f64> {
    pub(super) pattern: Pattern,
    /// Slope of every sample; 0 on a kink.
    pub(super) slopes: Vec<f64>,
    /// Samples that slide.
    on_kink: Vec<bool>,
    /// Kinks that slide, with independent rows, and the span of these.
    pub(super) sliding: Vec<usize>,
    pub(super) slide: Columns<R>,
}

impl<R: Number> Piece<R> {
    pub(super) fn new(span: &Span<R>, slope: f64, pattern: Pattern) -> Self {
        let mut piece = Self {
            slopes: vec![0.0; span.n],
            on_kink: vec![false; span.n],
            sliding: Vec::new(),
            slide: Columns::new(span.k),
            pattern: Pattern { sides: pattern.sides, held: Vec::new() },
        };
        for (g, side) in piece.pattern.sides.iter().enumerate() {
            span.kinks[g].iter().for_each(|(n, _)| piece.on_kink[*n] = *side == Side::Sliding);
            let held = pattern.held.iter().find(|(kink, _)| *kink == g);
            if *side != Side::Sliding {
                for (n, factor) in &span.kinks[g] {
                    piece.slopes[*n] = if side.sign() * factor.to_f64() > 0.0 { 1.0 } else { slope };
                }
            } else if held.is_none() && piece.slide.push(&span.kink(g)) {
                piece.sliding.push(g);
            } else {
                piece.pattern.held.push((g, held.map_or(0.5 * (1.0 + slope), |held| held.1)));
            }
        }
        piece
    }

    /// True if the sample slides.
    pub(super) fn slides(&self, n: usize) -> bool {
        self.on_kink[n]
    }

    /// True if the slopes of the sliding samples are not unique.
    pub(super) fn is_dependent(&self) -> bool {
        !self.pattern.held.is_empty()
    }

    /// `attraction · c` of every sliding kink of [`Piece::sliding`], given the residual: `X̃_Zᵀ(r∘c)_Z = −X̃_oᵀ(r∘c)_o` on the
    /// span of the rows that slide.
    pub(super) fn sliding_pushes(&self, span: &Span<R>, slope: f64, r: &[R]) -> Vec<R> {
        if self.sliding.is_empty() {
            return Vec::new();
        }
        let mut force = vec![R::ZERO; span.k];
        for (n, c) in self.slopes.iter().enumerate().filter(|(_, c)| **c != 0.0) {
            span.rows.axpy(n, R::from_f64(*c) * r[n], &mut force);
        }
        for (g, c) in self.sliding.iter().map(|g| (*g, 0.0)).chain(self.pattern.held.iter().copied()) {
            let kink = Kink::new(span, slope, g, r);
            span.push_along(g, kink.attraction * R::from_f64(c) - kink.offset, &mut force);
        }
        let mut pushes = self.slide.solve(&force);
        for z in &mut pushes {
            *z = -*z;
        }
        pushes
    }

    /// The slopes c of these kinks.
    pub(super) fn sliding_slopes(&self, span: &Span<R>, slope: f64, r: &[R]) -> Vec<R> {
        let pushes = self.sliding_pushes(span, slope, r);
        pushes.iter().zip(&self.sliding).map(|(z, g)| *z / Kink::new(span, slope, *g, r).attraction).collect()
    }
}

/// What the samples of a kink do together: with slope c of the kink they push with `(attraction · c − offset) x̃_g`.
///
/// A sample with a positive factor has the slope c of the kink, one with a negative factor `1 + ρ − c`: while the kink
/// spends a share λ of its time on the positive side, `c = ρ + λ(1 − ρ)`, they spend it on the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kink<R = f64> {
    /// `Σ |factor_n| r_n`. The kink attracts where its product with a is negative.
    pub(super) attraction: R,
    /// `(1 + ρ) Σ |factor_n| r_n` over the negative factors.
    pub(super) offset: R,
}

impl<R: Number> Kink<R> {
    pub(super) fn new(span: &Span<R>, slope: f64, g: usize, r: &[R]) -> Self {
        let mut kink = Self { attraction: R::ZERO, offset: R::ZERO };
        for (n, factor) in &span.kinks[g] {
            kink.attraction += factor.abs() * r[*n];
            if *factor < R::ZERO {
                kink.offset += (R::ONE + R::from_f64(slope)) * factor.abs() * r[*n];
            }
        }
        kink
    }
}
