"""Bad input: every message names the argument, says what is allowed and what was found, before any work is done."""

import math
import re
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import implicit_bias as ib
import implicit_bias._sweep  # before any of the core is replaced: what is loaded later would name the replacement
from implicit_bias import _core

X, Y = [[1.0, 2.0], [0.0, 1.0]], [1.0, 2.0]
NET = ib.DiagonalNetwork.from_scale_shape(2, scale=0.1)
NAN, INF = math.nan, math.inf


def network(**change):
    return ib.DiagonalNetwork(**{"u_plus": [1.0], "v_plus": [1.0], "u_minus": [1.0], "v_minus": [1.0]} | change)


def scaled(n_features=2, **change):
    return ib.DiagonalNetwork.from_scale_shape(n_features, **({"scale": 0.1} | change))


def flow(net=NET, X=X, y=Y, t=None, **change):
    return ib.gradient_flow(net, X, y, t, **change)


def limit(net=NET, X=X, y=Y, **change):
    return ib.limit(net, X, y, **change)


def path(nets=(NET,), X=X, y=Y, **change):
    return ib.limit_path(nets, X, y, **change)


def kkt(net=NET, X=X, y=Y, beta=(0.0, 0.0), **change):
    return ib.check_kkt(net, X, y, beta, **change)


def sweep(make_network=lambda scale: scaled(scale=scale), data=(X, Y), grid=None, measures="loss", **change):
    return ib.sweep(make_network, data, {"scale": [1.0]} if grid is None else grid, measures, **change)


def regression(n_samples=2, n_features=3, n_nonzero=1, **change):
    return ib.datasets.sparse_regression(n_samples, n_features, n_nonzero, **change)


REAL = "must be an array of real numbers"
NUMBER = "a real number, as a float, a decimal string, a Decimal, a Fraction or an mpf"
OBSERVABLES = "'loss', 'residual', 'l1_norm', 'l2_norm', 'max_norm', 'potential', 'distance'"
RTOL = "rtol must be in [1e-14, 0.1] (1e-14 is the floor of double precision)"
TOL = "tol must be in [1e-16, 0.1] (1e-16 is the round-off of y)"

DATA = [
    ({"X": [1.0, 2.0]}, "X must be an array of shape (n_samples, n_features): got shape (2,)"),
    ({"X": 3.0}, "X must be an array of shape (n_samples, n_features): got shape ()"),
    ({"X": np.ones((2, 2, 2))}, "X must be an array of shape (n_samples, n_features): got shape (2, 2, 2)"),
    ({"X": np.ones((0, 2)), "y": []}, "X must not be empty: got shape (0, 2)"),
    ({"X": np.ones((2, 0))}, "X must not be empty: got shape (2, 0)"),
    ({"X": [[1.0, NAN], [INF, 1.0]]}, "X must be finite: 2 of 4 entries are NaN or infinite"),
    ({"X": np.ones((2, 2), complex)}, f"X {REAL}: got dtype complex128"),
    ({"X": np.ones((2, 2), object)}, f"X {REAL}: got dtype object"),
    ({"X": np.ones((2, 2), "m8[s]")}, f"X {REAL}: got dtype timedelta64[s]"),
    ({"X": "data"}, f"X {REAL}: got dtype <U4"),
    ({"X": None}, f"X {REAL}: got dtype object"),
    ({"X": [["1.0", "2.0"], ["0.0", "1.0"]]}, f"X {REAL}: got dtype <U3"),
    ({"X": np.ones((2, 3))}, "X must have 2 columns, one for every feature of the start: got 3"),
    ({"y": [1.0, 2.0, 3.0]}, "y must have length 2, one target for every row of X: got 3"),
    ({"y": [[1.0], [2.0]]}, "y must be an array of shape (n,): got shape (2, 1)"),
    ({"y": [1.0, -INF]}, "y must be finite: 1 of 2 entries are NaN or infinite"),
    ({"y": []}, "y must not be empty: got shape (0,)"),
]

# What takes numbers of thirty digits looks at them one by one.
DIGITS = [
    (
        {"y": [1.0, 2.0j]},
        "y must be a real number, as a float, a decimal string, a Decimal, a Fraction or an mpf: got 2j",
    ),
    ({"y": (np.ones(2), np.ones(3))}, "y must have parts of one shape: got (2,) and (3,)"),
]

COMMON = [
    ({"precision": "single"}, "precision must be one of 'double', 'double-double': got 'single'"),
    ({"precision": 53}, "precision must be one of 'double', 'double-double': got 53"),
    ({"n_jobs": 0}, "n_jobs must be an integer of at least 1: got 0"),
    ({"n_jobs": -1}, "n_jobs must be an integer of at least 1: got -1"),
    ({"n_jobs": 2.0}, "n_jobs must be an integer of at least 1: got 2.0"),
    ({"n_jobs": 10**20}, f"n_jobs must be an integer of at most {sys.maxsize}: got {10**20}"),
    ({"n_jobs": True}, "n_jobs must be an integer of at least 1: got True"),
    ({"n_jobs": "all"}, "n_jobs must be an integer of at least 1: got 'all'"),
]

TOLERANCE = [
    ({"tol": 0.0}, f"{TOL}: got 0.0"),
    ({"tol": -1e-9}, f"{TOL}: got -1e-09"),
    ({"tol": 0.5}, f"{TOL}: got 0.5"),
    ({"tol": NAN}, f"{TOL}: got nan"),
    ({"tol": "1e-9"}, f"{TOL}: got '1e-9'"),
    ({"tol": True}, f"{TOL}: got True"),
    ({"tol": 1e-9j}, f"{TOL}: got 1e-09j"),
]

BOUNDS = [
    ({"bounds": 1}, "bounds must be True or False: got 1"),
    ({"bounds": None}, "bounds must be True or False: got None"),
]

FLOW = [
    ({"net": "net"}, "net must be a network, such as a DiagonalNetwork: got 'net'"),
    ({"rtol": 1e-15}, f"{RTOL}: got 1e-15"),
    ({"rtol": 0.2}, f"{RTOL}: got 0.2"),
    ({"rtol": -1.0}, f"{RTOL}: got -1.0"),
    ({"rtol": NAN}, f"{RTOL}: got nan"),
    ({"rtol": np.float64(1.0)}, f"{RTOL}: got 1.0"),
    ({"rtol": False}, f"{RTOL}: got False"),
    ({"rtol": [1e-9]}, f"{RTOL}: got [1e-09]"),
    ({"method": "euler"}, "method must be one of 'auto', 'radau', 'explicit', 'weights': got 'euler'"),
    ({"method": 3}, "method must be one of 'auto', 'radau', 'explicit', 'weights': got 3"),
    (
        {"method": "weights", "net": ib.DiagonalNetwork.from_scale_shape(2, log_scale=-2000.0)},
        "method 'weights' needs every weight in [1e-150, 1e+150] or 0: got one of size 10^-434.294; "
        "allowed here are 'auto', 'radau', 'explicit'",
    ),
    ({"t": -1.0}, "t must be an array of shape (n_times,): got shape ()"),
    ({"t": [-1.0, 1.0]}, "t must not be negative: got -1.0"),
    ({"t": [0.0, 1.0, 1.0]}, "t must be strictly increasing: got 1.0 after 1.0"),
    ({"t": [0.0, 2.0, 1.0]}, "t must be strictly increasing: got 1.0 after 2.0"),
    ({"t": []}, "t must not be empty: got shape (0,)"),
    ({"t": [0.0, INF]}, "t must be finite: 1 of 2 entries are NaN or infinite"),
    ({"t": ["now"]}, f"t {REAL}: got dtype <U3"),
    ({"max_steps": -1}, "max_steps must be an integer of at least 1: got -1"),
    ({"max_steps": 0}, "max_steps must be an integer of at least 1: got 0"),
    ({"max_steps": 1e3}, "max_steps must be an integer of at least 1: got 1000.0"),
    ({"max_steps": True}, "max_steps must be an integer of at least 1: got True"),
    ({"max_seconds": -1.0}, "max_seconds must be a positive finite number: got -1.0"),
    ({"max_seconds": 0}, "max_seconds must be a positive finite number: got 0"),
    ({"max_seconds": NAN}, "max_seconds must be a positive finite number: got nan"),
    ({"max_seconds": INF}, "max_seconds must be a positive finite number: got inf"),
    ({"max_events": 0}, "max_events must be an integer of at least 1: got 0"),
    ({"observables": "loss"}, "observables must be a sequence of names: got 'loss'"),
    ({"observables": 3}, "observables must be a sequence of names: got 3"),
    ({"observables": None}, "observables must be a sequence of names: got None"),
    ({"observables": ["loss", "l3_norm"]}, f"observables[1] must be one of {OBSERVABLES}: got 'l3_norm'"),
    ({"observables": [1]}, f"observables[0] must be one of {OBSERVABLES}: got 1"),
    ({"observables": ["loss", "loss"]}, "observables must not repeat a name: got 'loss' twice"),
    ({"save_beta": 0}, "save_beta must be True or False: got 0"),
    ({"save_beta": None}, "save_beta must be True or False: got None"),
    ({"progress": 3}, "progress must be True, False or a function of a FlowProgress: got 3"),
    ({"progress": "bar"}, "progress must be True, False or a function of a FlowProgress: got 'bar'"),
    ({"time_unit": "seconds"}, "time_unit must be one of 'flow', 'log_scale': got 'seconds'"),
    ({"time_unit": 1.0}, "time_unit must be one of 'flow', 'log_scale': got 1.0"),
    (
        {"time_unit": "log_scale", "net": ib.DiagonalNetwork.from_scale_shape(2, scale=1.0)},
        "time_unit 'log_scale' needs a scale below 1: got ln(scale) = 0; allowed here is 'flow'",
    ),
    (
        {"time_unit": "log_scale", "net": ib.DiagonalNetwork.from_scale_shape(2, log_scale=[-1.0, 4.0])},
        "time_unit 'log_scale' needs a scale below 1: got ln(scale) = 1.5; allowed here is 'flow'",
    ),
    (
        {"time_unit": "log_scale", "net": ib.DiagonalNetwork.from_scale_shape(2, log_scale=-1e-300)},
        "time_unit 'log_scale' needs a scale below 1: got ln(scale) = -1e-300; allowed here is 'flow'",
    ),
    ({"on_interrupt": "ignore"}, "on_interrupt must be one of 'raise', 'return': got 'ignore'"),
]

PATH = [
    ({"nets": []}, "nets must not be empty: got no network"),
    ({"nets": 3}, "nets must be networks, one for every start: got 3"),
    ({"nets": [NET, 1.0]}, "nets[1] must be a network, such as a DiagonalNetwork: got 1.0"),
    ({"nets": [NET, scaled(3)]}, "nets[1] must have 2 features, as nets[0] has: got 3"),
]

KKT = [
    ({"net": None}, "net must be a network, such as a DiagonalNetwork: got None"),
    ({"beta": [1.0]}, "beta must have length 2, one coefficient for every column of X: got 1"),
    ({"beta": [1.0, NAN]}, "beta must be finite: 1 of 2 entries are NaN or infinite"),
    ({"beta": "zero"}, "beta must be an array of shape (n,): got shape ()"),
]

AXES = "grid must be a dict of values for every axis, not empty"
NAMES = "grid must have names of parameters as keys, none of 'success', 'status', 'message', 'seed_sequence'"
PAIR = "data must be (X, y), have the attributes X and y, or be a function of a point"
KNOWN = (
    "'loss', 'residual', 'l1_norm', 'l2_norm', 'max_norm', 'potential_value', 'kkt_residual', 'error_bound', "
    "'n_iter', 'time'"
)


def seeded(seed_sequence):
    """Data of a seed."""


def l1_norm(end):
    """A measure."""


SWEEP = [
    (
        {"make_network": NET},
        "make_network must be a function of a point: got DiagonalNetwork(n_features=2, scale=0.1, shape=0.0)",
    ),
    ({"make_network": None}, "make_network must be a function of a point: got None"),
    (
        {"make_network": lambda scale, width: NET},
        "make_network must not need more than the axes of grid: it needs 'width', grid has 'scale'",
    ),
    ({"data": X}, DATA[0][1]),
    ({"data": None}, f"{PAIR}: got None"),
    ({"data": (X, Y, Y)}, f"{PAIR}: got ([[1.0, 2.0], [0.0, 1.0]], [1.0, 2.0], [1.0, 2.0])"),
    ({"data": lambda n: (X, Y)}, "data must not need more than the axes of grid: it needs 'n', grid has 'scale'"),
    ({"grid": {}}, f"{AXES}: got {{}}"),
    ({"grid": [1.0]}, f"{AXES}: got [1.0]"),
    ({"grid": {"scale": []}}, "grid['scale'] must not be empty: got []"),
    ({"grid": {"scale": 1.0}}, "grid['scale'] must be a sequence of values: got 1.0"),
    ({"grid": {"scale": "1.0"}}, "grid['scale'] must be a sequence of values: got '1.0'"),
    ({"grid": {"scale": {1.0}}}, "grid['scale'] must be a sequence of values: got {1.0}"),
    ({"grid": {"scale": np.array(1.0)}}, "grid['scale'] must be a sequence of values: got array(1.)"),
    ({"grid": {"scale": [1.0], "seed": 0}}, "grid['seed'] must be an integer of at least 1: got 0"),
    (
        {"grid": {"scale": [1.0], "seed": 1.5}},
        "grid['seed'] must be a sequence of values (or a number of seeds): got 1.5",
    ),
    (
        {"grid": {"scale": [1.0], "seed": True}},
        "grid['seed'] must be a sequence of values (or a number of seeds): got True",
    ),
    (
        {"grid": {"scale": [1.0], "seeds": [1]}},
        "grid['seeds'] must be a parameter of make_network or data: neither takes 'seeds'",
    ),
    ({"grid": {"scale": [1.0], 3: [1]}}, f"{NAMES}: got 3"),
    ({"grid": {"scale": [1.0], "status": [1]}}, f"{NAMES}: got 'status'"),
    (
        {"data": seeded},
        "grid['seed'] must hold integers of at least 0, because data takes seed_sequence",
    ),
    (
        {"data": seeded, "grid": {"scale": [1.0], "seed": [1, -1]}},
        "grid['seed'] must hold integers of at least 0, because data takes seed_sequence",
    ),
    ({"measures": "l0_norm"}, f"measures must be one of {KNOWN}: got 'l0_norm'"),
    ({"measures": 3}, "measures must be names, functions of a result or a dict of them: got 3"),
    ({"measures": [3]}, "measures must be names or functions of a result: got 3"),
    ({"measures": {3: "loss"}}, "measures must have words as names: got 3"),
    (
        {"measures": {"scale": "loss"}},
        "measures must have names of their own, unlike the other columns: got 'scale' twice",
    ),
    (
        {"measures": ["loss", "loss"]},
        "measures must have names of their own, unlike the other columns: got 'loss' twice",
    ),
    (
        {"measures": ["l1_norm", l1_norm]},
        "measures must have names of their own, unlike the other columns: got 'l1_norm' twice",
    ),
    (
        {"measures": "error_bound", "solve_options": {"bounds": False}},
        "measures must not hold 'error_bound' with bounds=False in solve_options",
    ),
    ({"solve": "training"}, "solve must be one of 'limit', 'flow': got 'training'"),
    ({"solve_options": [1]}, "solve_options must be a dict of options of the solver: got [1]"),
    ({"solve_options": {"rtol": 1e-9}}, "solve_options must be among 'tol', 'bounds', 'precision': got 'rtol'"),
    ({"solve_options": {"n_jobs": 2}}, "solve_options must be among 'tol', 'bounds', 'precision': got 'n_jobs'"),
    ({"solve_options": {"tol": 1}}, f"{TOL}: got 1"),
    ({"solve_options": {"rtol": 1}, "solve": "flow"}, f"{RTOL}: got 1"),
    ({"executor": 3}, "executor must be a concurrent.futures.Executor or like one: got 3"),
    ({"checkpoint": 3}, "checkpoint must be a path: got 3"),
    ({"progress": 3}, "progress must be True, False or a function of (done, total): got 3"),
    ({"on_interrupt": "ignore"}, "on_interrupt must be one of 'raise', 'return': got 'ignore'"),
]

A_NUMBER = "a real number, as a float, a decimal string, a Decimal, a Fraction or an mpf"
WEIGHTS = [
    ({"u_plus": [[1.0]]}, "u_plus must be an array of shape (n_features,): got shape (1, 1)"),
    ({"u_plus": []}, "u_plus must not be empty: got shape (0,)"),
    ({"v_plus": [1.0, 2.0]}, "v_plus must have length 1, one weight for every entry of u_plus: got 2"),
    ({"u_minus": [NAN]}, "u_minus must be finite: 1 of 1 entries are NaN or infinite"),
    ({"v_minus": [1j]}, f"v_minus {REAL}: got dtype complex128"),
    ({"log_magnitude": NAN}, "log_magnitude must be a finite number or an array of them: got nan"),
    ({"log_magnitude": "zero"}, f"log_magnitude must be {A_NUMBER}: got 'zero'"),
    ({"log_magnitude": -2e12}, "log_magnitude must be in [-1e+12, 1e+12]: got -2000000000000.0"),
    ({"log_magnitude": [0.0, 0.0]}, "log_magnitude must have length 1, one for every feature: got 2"),
]

SCALE_SHAPE = [
    ({"n_features": 0}, "n_features must be an integer of at least 1: got 0"),
    ({"n_features": -3}, "n_features must be an integer of at least 1: got -3"),
    ({"n_features": 2.0}, "n_features must be an integer of at least 1: got 2.0"),
    ({"n_features": True}, "n_features must be an integer of at least 1: got True"),
    ({"n_features": "2"}, "n_features must be an integer of at least 1: got '2'"),
    ({"scale": None}, "exactly one of scale and log_scale must be given: got neither"),
    ({"log_scale": 0.0}, "exactly one of scale and log_scale must be given: got both"),
    ({"scale": 0.0}, "scale must be positive: got 0.0"),
    ({"scale": -1}, "scale must be positive: got -1"),
    ({"scale": [1.0, -2.0]}, "scale must be positive: got -2.0"),
    ({"scale": INF}, "scale must be a finite number or an array of them: got inf"),
    ({"scale": True}, "scale must be a finite number or an array of them: got True"),
    ({"scale": "small"}, f"scale must be {A_NUMBER}: got 'small'"),
    ({"scale": [1.0, 2.0, 3.0]}, "scale must have length 2, one for every feature: got 3"),
    ({"scale": None, "log_scale": NAN}, "log_scale must be a finite number or an array of them: got nan"),
    ({"scale": None, "log_scale": 1e13}, "log_scale must be in [-1e+12, 1e+12]: got 10000000000000.0"),
    ({"shape": 1.0}, "shape must be in (-1, 1): got 1.0"),
    ({"shape": [0.0, -1.5]}, "shape must be in (-1, 1): got -1.5"),
    ({"shape": NAN}, "shape must be a finite number or an array of them: got nan"),
    ({"shape": None}, "shape must be a finite number or an array of them: got None"),
    ({"shape": [0.0]}, "shape must have length 2, one for every feature: got 1"),
]

ENTROPY = [
    ({}, "exactly one of kappa and log_kappa must be given: got neither"),
    ({"kappa": 1.0, "log_kappa": 0.0}, "exactly one of kappa and log_kappa must be given: got both"),
    ({"kappa": 0.0}, "kappa must be positive: got 0.0"),
    ({"kappa": NAN}, "kappa must be a finite number or an array of them: got nan"),
    ({"kappa": [[1.0]]}, "kappa must be an array of shape (n_features,): got shape (1, 1)"),
    ({"log_kappa": -INF}, "log_kappa must be a finite number or an array of them: got -inf"),
    ({"log_kappa": 1e15}, "log_kappa must be in [-1e+12, 1e+12]: got 1000000000000000.0"),
    ({"kappa": [1.0, 2.0], "beta0": [0.0]}, "kappa must have length 1, one for every feature: got 2"),
    ({"kappa": "-1e-400"}, "kappa must be positive: got '-1e-400'"),
    ({"kappa": 1.0, "precision": None}, "precision must be one of 'double', 'double-double': got None"),
    ({"kappa": 1.0, "beta0": [INF]}, "beta0 must be finite: 1 of 1 entries are NaN or infinite"),
]

NEURON_POTENTIAL = [
    ({"delta": NAN}, "delta must be a finite number: got nan"),
    ({"delta": -INF}, "delta must be a finite number: got -inf"),
    ({"delta": True}, "delta must be a finite number: got True"),
    ({"delta": [1.0]}, "delta must be a finite number: got [1.0]"),
    ({"delta": "one"}, f"delta must be {NUMBER}: got 'one'"),
    ({"delta": "1e-400"}, "delta must be in the range of float64: got '1e-400'"),
    ({"delta": 1.0, "precision": "quad"}, "precision must be one of 'double', 'double-double': got 'quad'"),
    ({"delta": 1.0, "z": 1.0}, "z must be an array of shape (n_features,): got shape ()"),
    ({"delta": 1.0, "z": []}, "z must not be empty: got shape (0,)"),
    ({"delta": 1.0, "z": [INF, 0.0]}, "z must be finite: 1 of 2 entries are NaN or infinite"),
    ({"delta": 1.0, "z": ["a"]}, f"z must be {NUMBER}: got 'a'"),
]

Q = ib.HyperbolicEntropy(kappa=[1.0, 2.0])
NEURON = ib.NeuronPotential(1.0, z=[1.0, 2.0])
END = ib.KKTReport(0.0, 0.0, 0.0, None, np.zeros(1), np.zeros(1))
q = ib.special.q_diagonal
q_neuron = ib.special.q_neuron

OTHERS = [
    (lambda: Q([1.0]), "beta must have 2 features, as kappa or beta0 has: got 1"),
    (lambda: Q([1.0, NAN]), "beta must be finite: 1 of 2 entries are NaN or infinite"),
    (lambda: Q.gradient(1.0), "beta must be an array of shape (n_features,): got shape ()"),
    (lambda: Q.hessian("a"), "beta must be an array of shape (n_features,): got shape ()"),
    (lambda: Q.hessian(["a", 1.0]), f"beta must be {NUMBER}: got 'a'"),
    (lambda: Q.bregman([1.0, 1.0], [1.0]), "beta0 must have length 2, one for every entry of beta: got 1"),
    (lambda: Q.interpolate([[1.0]], [1.0]), "X must have 2 features, as kappa or beta0 has: got 1"),
    (lambda: Q.interpolate([[1.0, 1.0]], [NAN]), "y must be finite: 1 of 1 entries are NaN or infinite"),
    (lambda: NEURON([1.0]), "beta must have 2 features, as z has: got 1"),
    (lambda: NEURON([1.0, NAN]), "beta must be finite: 1 of 2 entries are NaN or infinite"),
    (lambda: NEURON.gradient(1.0), "beta must be an array of shape (n_features,): got shape ()"),
    (lambda: NEURON.hessian([1j, 1.0]), f"beta must be {NUMBER}: got 1j"),
    (lambda: NEURON.bregman([1.0, 1.0], [1.0]), "beta0 must have length 2, one for every entry of beta: got 1"),
    (lambda: NEURON.interpolate([[1.0]], [1.0]), "X must have 2 features, as z has: got 1"),
    (lambda: NEURON.interpolate([[1.0, 1.0]], [NAN]), "y must be finite: 1 of 1 entries are NaN or infinite"),
    (lambda: END.satisfied(0.0), "tol must be in [1e-31, 0.1] (1e-31 is the round-off of y): got 0.0"),
    (lambda: q(NAN, 0.0), "x must be finite: 1 of 1 entries are NaN or infinite"),
    (lambda: q(0.0, [0.0, INF]), "log_kappa must be finite: 1 of 2 entries are NaN or infinite"),
    (lambda: q(1j, 0.0), f"x {REAL}: got dtype complex128"),
    (lambda: q([1.0, 2.0], [1.0] * 3), "log_kappa must broadcast against x of shape (2,): got shape (3,)"),
    (lambda: q_neuron([1.0, -1.0], 0.0), "x must not be negative: got -1.0"),
    (lambda: q_neuron(INF, 0.0), "x must be finite: 1 of 1 entries are NaN or infinite"),
    (lambda: q_neuron(0.0, [0.0, NAN]), "delta must be finite: 1 of 2 entries are NaN or infinite"),
    (lambda: q_neuron([1.0, 2.0], [1.0] * 3), "delta must broadcast against x of shape (2,): got shape (3,)"),
    (lambda: regression(n_samples=0), "n_samples must be an integer of at least 1: got 0"),
    (lambda: regression(n_features=1.5), "n_features must be an integer of at least 1: got 1.5"),
    (lambda: regression(n_nonzero=0), "n_nonzero must be an integer of at least 1: got 0"),
    (lambda: regression(n_nonzero=4), "n_nonzero must be at most n_features (3): got 4"),
    (lambda: regression(noise_std=-0.1), "noise_std must be a non-negative finite number: got -0.1"),
    (lambda: regression(noise_std=INF), "noise_std must be a non-negative finite number: got inf"),
    (lambda: regression(seed=-1), "seed must be a non-negative integer or a generator: got -1"),
    (lambda: regression(seed="one"), "seed must be a non-negative integer or a generator: got 'one'"),
    (lambda: ib.baselines.min_l2_norm([1.0], [1.0]), DATA[0][1].replace("(2,)", "(1,)")),
    (lambda: ib.baselines.basis_pursuit([[1.0]], []), "y must not be empty: got shape (0,)"),
    (lambda: ib.plot.trajectory(3), "flow must be a Flow with at least one row: got 3"),
    (lambda: ib.plot.coefficients(None), "limit must be a Limit: got None"),
    (lambda: ib.plot.regime_map({}, "loss", "scale", "shape"), "table must be a SweepResult: got {}"),
    (lambda: ib.plot.shape_and_scale({"scale": [1.0]}), "table must have a column 'shape': got ['scale']"),
    (
        lambda: ib.plot.shape_and_scale({"scale": [1.0], "shape": [0.0, 0.0], "test_mse": [1.0]}),
        "table['shape'] must have length 1, as long as the column 'scale': got 2",
    ),
    (
        lambda: ib.plot.shape_and_scale({"scale": [1.0], "shape": [0.0], "test_mse": [1.0]}, baselines={"l1": NAN}),
        "baselines['l1'] must be a finite number: got nan",
    ),
]


def table():
    for call, rows in (
        (flow, DATA + DIGITS + COMMON + TOLERANCE + FLOW),
        (limit, DATA + DIGITS + COMMON + TOLERANCE + BOUNDS + FLOW[:1]),
        (path, DATA + DIGITS + COMMON + TOLERANCE + BOUNDS + PATH),
        (kkt, DATA + DIGITS + COMMON + KKT),
        (sweep, [row for row in COMMON if "n_jobs" in row[0]] + SWEEP),
        (network, WEIGHTS),
        (scaled, SCALE_SHAPE),
        (ib.HyperbolicEntropy, ENTROPY),
        (ib.NeuronPotential, NEURON_POTENTIAL),
    ):
        for arguments, message in rows:
            yield pytest.param(lambda c=call, a=arguments: c(**a), message, id=f"{call.__name__}: {message}")
    for call, message in OTHERS:
        yield pytest.param(call, message, id=message)


@pytest.fixture
def no_work(monkeypatch):
    """The core, out of reach: a check that comes after some work fails."""

    def called(*args, **kwargs):
        raise AssertionError("the core was called")

    for name in dir(_core):
        # Reading a decimal string is the check.
        if callable(getattr(_core, name)) and not name.startswith("_") and name != "read_double_double":
            monkeypatch.setattr(_core, name, called)


@pytest.mark.parametrize(("call", "message"), list(table()))
def test_bad_input_is_a_value_error_that_says_what_is_wrong_and_what_is_allowed(call, message, no_work):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()
    # lower case, but for X, which is X in every paper
    assert message[0].islower() or message.startswith("X must")


def test_an_executor_class_in_place_of_an_executor_is_named():
    with pytest.raises(ValueError, match=r"^executor must be a concurrent.futures.Executor or like one: got <class"):
        sweep(executor=ThreadPoolExecutor)


def test_a_measure_without_a_name_needs_one():
    with pytest.raises(ValueError, match=r"^measures must be a dict where a function has no name: got <function"):
        sweep(measures=[lambda end: 0.0])


@pytest.mark.parametrize("name", ["make_network", "data", "grid", "measures"])
def test_what_processes_cannot_be_sent_is_named_before_any_work(name):
    unsendable = {
        "data": lambda scale: (X, Y),
        "grid": {"scale": [lambda: 1.0]},
        "measures": {"zero": lambda end: 0.0},
    }
    sendable = partial(ib.DiagonalNetwork.from_scale_shape, 2)
    change = {"make_network": sendable, name: unsendable[name]} if name in unsendable else {}
    with (
        ProcessPoolExecutor(1) as pool,
        pytest.raises(ValueError, match=rf"^{name} must pickle for an executor of processes, as what is defined"),
    ):
        sweep(executor=pool, **change)


def test_the_table_of_a_sweep_names_its_columns():
    with pytest.raises(
        ValueError, match=r"^name must be one of 'scale', 'loss', 'success', 'status', 'message': got 'l1'"
    ):
        sweep().grid("l1")


def test_ragged_data_are_named_like_any_other_bad_argument():
    with pytest.raises(ValueError, match=r"^X must be an array of real numbers: .*inhomogeneous"):
        limit(X=[[1.0, 2.0], [3.0]])


def test_targets_that_nothing_fits_have_no_basis_pursuit():
    with pytest.raises(ValueError, match=r"^y must be in the range of X: no predictor fits the data"):
        ib.baselines.basis_pursuit([[1.0], [1.0]], [1.0, 2.0])
