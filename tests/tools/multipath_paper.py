#!/usr/bin/env python3
"""The model of a copy over several paths, written from the text of the paper and from nothing else:
A. Sojoodi et al., Accelerating intra-node GPU communication: a performance model for multi-path
transfers, 2025. Compares what Grove says with it, to 1e-9.

    multipath_paper.py numbers FILE      lines of tests/model/multipath_numbers
    multipath_paper.py answer FILE       the JSON of grove multipath, nothing shared

What the paper leaves open is as docs/decisions/0027 says: phi is that of the centre of a size class
of an eighth of an octave, at most 1; a number of chunks is whole.
"""
import itertools
import json
import math
import sys

compared = 0


def same(got, want, what, close=1e-9):
    global compared
    compared += 1
    if not abs(got - want) <= close * abs(want) + 1e-300:
        sys.exit("FAIL: %s is %.17g, and by the paper %.17g" % (what, got, want))


# ---- one path: a dict of alpha, beta, epsilon, alpha2, beta2; a direct one has no alpha2 ----

def is_direct(p):
    return p["alpha2"] is None


def eq1(p, n):
    return p["alpha"] + n / p["beta"]


def eq2(p, n):
    return p["alpha"] + n / p["beta"] + p["epsilon"] + p["alpha2"] + n / p["beta2"]


def eq13(p, n, k):
    if p["beta"] < p["beta2"]:
        return (k * (p["alpha"] + n / k / p["beta"])
                + p["epsilon"] + p["alpha2"] + n / k / p["beta2"])
    return p["alpha"] + n / k / p["beta"] + k * (p["epsilon"] + p["alpha2"] + n / k / p["beta2"])


def eq14_15(p, n):
    if p["beta"] < p["beta2"]:
        return math.sqrt(n / (p["alpha"] * p["beta2"]))
    return math.sqrt(n / (p["beta"] * (p["epsilon"] + p["alpha2"])))


def eq17_18(p, n):
    if p["beta"] < p["beta2"]:
        return (2 * math.sqrt(n * p["alpha"] / p["beta2"]) + n / p["beta"]
                + p["epsilon"] + p["alpha2"])
    return (2 * math.sqrt(n * (p["epsilon"] + p["alpha2"]) / p["beta"]) + n / p["beta2"]
            + p["alpha"])


def eq16_as_printed(p, n):
    """With lambda = floor(beta' / beta)."""
    factor = math.floor(p["beta2"] / p["beta"])
    case1 = 2 * math.sqrt(n * p["alpha"] / p["beta2"]) + n / p["beta"] + p["epsilon"] + p["alpha2"]
    case2 = (2 * math.sqrt(n * (p["epsilon"] + p["alpha2"]) / p["beta"]) + n / p["beta2"]
             + p["alpha"])
    return factor * case1 + (1 - factor) * case2


def eq19(p, phi, n):
    if p["beta"] < p["beta2"]:
        return phi * n / (p["alpha"] * p["beta2"])
    return phi * n / ((p["epsilon"] + p["alpha2"]) * p["beta"])


def eq22(p, phi):
    if is_direct(p):
        return 1 / p["beta"], p["alpha"]
    if p["beta"] < p["beta2"]:
        return 1 / p["beta"] + phi / p["beta2"], p["epsilon"] + p["alpha2"] + p["alpha"] / phi
    return phi / p["beta"] + 1 / p["beta2"], p["alpha"] + (p["epsilon"] + p["alpha2"]) / phi


def eq24(omegas, deltas, n):
    inverse = sum(1 / o for o in omegas)
    both = sum(d / o for o, d in zip(omegas, deltas))
    return [1 / (o * inverse) * (1 - d / n * inverse + both / n) for o, d in zip(omegas, deltas)]


def pipelined(p, n, k):
    """Chunk by chunk: a link takes the next one when it is free and the chunk is there."""
    if is_direct(p):
        return eq1(p, n)
    first = second = 0
    for _ in range(int(k)):
        first += p["alpha"] + n / k / p["beta"]
        second = max(first, second) + p["epsilon"] + p["alpha2"] + n / k / p["beta2"]
    return second


# ---- numbers ----

def check_numbers(file):
    wrong_16 = 0
    for line in open(file):
        d = json.loads(line)
        n = d["n"]
        if d["what"] == "shares":
            shares = eq24([p["omega"] for p in d["paths"]], [p["delta"] for p in d["paths"]], n)
            ends = [s * n * p["omega"] + p["delta"] for s, p in zip(shares, d["paths"])]
            for p, share, end in zip(d["paths"], shares, ends):
                # A share is what is left of larger numbers.
                same(p["share"] + 1, share + 1, "(24)")
                same(end, ends[0], "the end of a path")
            same(sum(p["share"] for p in d["paths"]), 1, "the sum of shares")
            continue
        k = d["k"]
        same(d["eq1"], eq1(d, n), "(1)")
        same(d["eq2"], eq2(d, n), "(2)")
        same(d["eq12"], eq2(d, n / k), "(12)")
        same(d["eq13"], eq13(d, n, k), "(13)")
        same(d["eq14_15"], eq14_15(d, n), "(14), (15)")
        same(d["eq17_18"], eq17_18(d, n), "(17), (18)")
        same(d["eq17_18"], eq13(d, n, eq14_15(d, n)), "(17), (18) as (13) with (14), (15)")
        same(d["phi"], min(1, 1 / eq14_15(d, n)), "phi")
        same(d["eq19"], eq19(d, d["phi"], n), "(19)")
        omega, delta = eq22(d, d["phi"])
        same(d["omega"], omega, "omega of (22)")
        same(d["delta"], delta, "delta of (22)")
        same(d["eq20"], eq17_18(d, n) if d["phi"] < 1 else eq2(d, n), "(20)")
        same(d["pipelined"], pipelined(d, n, k), "the time chunk by chunk")
        if d["beta2"] >= 2 * d["beta"]:
            wrong_16 += abs(eq16_as_printed(d, n) / eq17_18(d, n) - 1) > 0.01
    if wrong_16 == 0:
        sys.exit("FAIL: (16) as printed is right after all, and docs/decisions/0027 says otherwise")


# ---- a whole answer ----

def centre_of_class(n):
    if n < 16:
        return n
    octave = int(n).bit_length() - 1
    return (8.5 + (int(n) >> (octave - 3)) - 8) * 2 ** (octave - 3)


def rate(p):
    return p["beta"] if is_direct(p) else min(p["beta"], p["beta2"])


def linear(p, launch, phi):
    omega, delta = eq22(p, phi)
    return omega, delta + launch


def tangent(p, bytes):
    """phi at so many bytes."""
    if is_direct(p) or bytes <= 0:
        return 1
    return min(1, 1 / eq14_15(p, bytes))


def bytes_after(p, seconds):
    """What a path carries by (17), (18), or (2) for one chunk: by halving."""
    low, high = 0.0, 1e15
    for _ in range(110):
        middle = (low + high) / 2
        if is_direct(p):
            takes = eq1(p, middle)
        elif eq14_15(p, middle) < 1:
            takes = eq2(p, middle)
        else:
            takes = eq17_18(p, middle)
        low, high = (middle, high) if takes <= seconds else (low, middle)
    return low


def launches_of(paths):
    out, total = [], 0
    for p in paths:
        out.append(total)
        total += p["alpha"]
    return out


def published(paths, n):
    """[(path, share, phi, omega, delta)] of the paths that are used."""
    paths = sorted(paths, key=lambda p: (not is_direct(p), -rate(p)))
    centre = centre_of_class(n)
    while True:
        launches = launches_of(paths)
        low, high = 0.0, 1e3
        for _ in range(90):
            middle = (low + high) / 2
            total = sum(bytes_after(p, middle - l) for p, l in zip(paths, launches))
            low, high = (middle, high) if total <= centre else (low, middle)
        carried = [bytes_after(p, low - l) for p, l in zip(paths, launches)]
        phis = [tangent(p, b) for p, b in zip(paths, carried)]
        lines = [linear(p, l, phi) for p, l, phi in zip(paths, launches, phis)]
        for bytes in (centre, n):
            shares = eq24([o for o, _ in lines], [d for _, d in lines], bytes)
            staged = [(s, i) for i, s in enumerate(shares) if not is_direct(paths[i]) and s <= 0]
            if staged and len(paths) > 1:
                del paths[min(staged)[1]]
                break
        else:
            return [(p, s, phi, o, d) for p, s, phi, (o, d) in zip(paths, shares, phis, lines)]


def carries(p, seconds):
    """With the best whole number of chunks: by trying them."""
    if is_direct(p):
        return max(0, (seconds - p["alpha"]) * p["beta"])
    second, best, k = p["epsilon"] + p["alpha2"], 0, 0
    while k < 3000:
        k += 1
        chunk = min((seconds - k * p["alpha"] - second) / (k / p["beta"] + 1 / p["beta2"]),
                    (seconds - p["alpha"] - k * second) / (1 / p["beta"] + k / p["beta2"]))
        if k * chunk < 0.5 * best or chunk <= 0 and k > 1:
            break
        best = max(best, k * chunk)
    return best


def exact(paths, n):
    """The least time over all orders in which the direct path has a part."""
    best = math.inf
    for order in itertools.permutations(paths):
        launches = launches_of(order)
        low, high = 0.0, min(best, 1e3)
        if sum(carries(p, high - l) for p, l in zip(order, launches)) < n:
            continue
        for _ in range(60):
            middle = (low + high) / 2
            total = sum(carries(p, middle - l) for p, l in zip(order, launches))
            low, high = (middle, high) if total < n else (low, middle)
        begins = [l + p["alpha"] for p, l in zip(order, launches) if is_direct(p)]
        best = min(best, max([high] + begins))
    return best


def check_answer(file):
    d = json.load(open(file))
    n, paths = d["bytes"], d["paths"]
    used = [p for p in paths if p["share"] > 0]
    same(sum(p["share"] for p in paths), 1, "the sum of shares")
    if sum(p["bytes"] for p in paths) != n:
        sys.exit("FAIL: bytes are lost")
    same(d["seconds"], max(p["seconds"] for p in paths), "the end of the last path")
    same(d["gain"], d["single_path_seconds"] / d["seconds"], "the gain")
    same(d["single_path_seconds"], eq1(paths[0], n), "the direct path")
    for p in used:
        same(p["seconds"], p["share"] * n * p["omega"] + p["delta"], "(21)")
        same(p["seconds"], d["seconds"], "Theorem 1: the end of a path")
    if d["solver"] == "published":
        wanted = {id(p): rest for p, *rest in published(paths, n)}
        for p in paths:
            if (id(p) in wanted) != (p["share"] > 0):
                sys.exit("FAIL: the path by %s is used by one of the two only" % p["via"])
            if p["share"] == 0:
                continue
            share, phi, omega, delta = wanted[id(p)]
            same(p["share"] + 1, share + 1, "share")
            same(p["omega"], omega, "omega")
            same(p["delta"], delta, "delta, with line 18")
            if not is_direct(p):
                same(p["phi"], phi, "phi")
                if abs(p["chunks"] - eq19(p, phi, share * n)) > 1 and p["chunks"] > 1:
                    sys.exit("FAIL: %d chunks" % p["chunks"])
    else:
        same(d["seconds"], exact(paths, n), "the least time")
        before = 0
        for p in sorted(used, key=lambda p: p["delta"]):
            ends = pipelined(p, p["share"] * n, p["chunks"])
            before = d["seconds"] - ends
            if not any(abs(sum(q["alpha"] for q in some) - before) <= 1e-9 * d["seconds"]
                       for r in range(len(paths)) for some in itertools.combinations(used, r)):
                sys.exit("FAIL: %g s are no launches of others" % before)


if sys.argv[1] == "numbers":
    check_numbers(sys.argv[2])
else:
    for file in sys.argv[2:]:
        check_answer(file)
print("%d numbers are as in the paper" % compared)
