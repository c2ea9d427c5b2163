"""Simulated machines: the simulated part of a profile, and what Grove is told about it."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# The short name, and the profile it is made from.
PROFILES = {"lassen": "lassen", "bluewaters": "bluewaters", "10gbe": "tcp-10g",
            "slingshot": "slingshot"}
OVERHEADS = ["most", "half"]  # how much of alpha keeps the sender busy: see costs.hpp
WIRE_SECONDS = 6e-7  # what "most" leaves, between nodes
LOCALITIES = ["on-socket", "on-node", "off-node"]
PROTOCOLS = ["short", "eager", "rend"]
SOURCE = "measured in the simulation, which bench/scale/run --check compares with it"


class Machine:
    """The parameters that costs.cpp also reads."""

    def __init__(self, name):
        self.name = name
        self.path = os.path.join(ROOT, "machines", f"{PROFILES[name]}.machine")
        self.rows, self.alpha, self.beta, self.first = {}, {}, {}, {"short": 0}
        with open(self.path, encoding="utf-8") as file:
            for line in file:
                words = line.split()
                if len(words) >= 6 and words[1] in ("-", "cpu"):
                    self.read_row(*words[:6])
        self.node_size = int(self.rows["ranks"])
        self.socket_size = self.node_size // int(self.rows["sockets"])

    def read_row(self, term, memory, locality, scope, value, unit):
        number = float(value)
        per_byte = 1 / number if unit == "B/s" and number else number
        if memory == "-":
            self.rows[term] = number
        elif term == "from":
            self.first[scope] = int(number)
        elif term == "alpha":
            self.alpha[locality, scope] = number
        elif term == "beta":
            self.beta[locality, scope] = per_byte
        elif term == "injection" and value != "inf":
            self.rows["injection"] = per_byte

    def protocol(self, size):
        return [name for name in PROTOCOLS if self.first[name] <= size][-1]

    def seconds(self, where, size):
        """One way of a ping-pong, by the table."""
        protocol = self.protocol(size)
        return self.alpha[where, protocol] + self.beta[where, protocol] * size

    def injection_seconds(self, ranks, size):
        """All these ranks send at once: the last message has waited for the others."""
        return self.seconds("off-node", size) + (ranks - 1) * size * self.rows["injection"]

    def streams(self, where, protocol, overhead):
        """Seconds between two messages of one sender, and per byte."""
        alpha, beta = self.alpha[where, protocol], self.beta[where, protocol]
        off = where == "off-node"
        travel = alpha / 2 if overhead == "half" else WIRE_SECONDS if off else 0
        return alpha - travel, beta - (self.rows["injection"] if off else 0), travel

    def profile(self, overhead):
        """The profile that a program would measure on this machine, as text."""
        lines = [f"{term} - node - {self.rows[term]:g} 1 {SOURCE}"
                 for term in ("sockets", "ranks", "cores")]
        lines += [f"from cpu any {name} {self.first[name]} B {SOURCE}" for name in PROTOCOLS[1:]]
        lines.append(f"injection cpu off-node any {self.rows['injection']:.9g} s/B {SOURCE}")
        for where in LOCALITIES:
            for i, name in enumerate(PROTOCOLS):
                end = self.first[PROTOCOLS[i + 1]] - 1 if i + 1 < len(PROTOCOLS) else ""
                scope = f"{self.first[name]}..{end}"
                g, per_byte, travel = self.streams(where, name, overhead)
                values = [("alpha", name, self.alpha[where, name], "s"),
                          ("beta", name, self.beta[where, name], "s/B"), ("L", scope, travel, "s"),
                          ("g", scope, g, "s"), ("G", scope, per_byte, "s/B"),
                          # The sender's time is in g already.
                          ("o_s", scope, 0, "s"), ("o_r", scope, 0, "s")]
                lines += [f"{term} cpu {where} {range_} {value:.9g} {unit} {SOURCE}"
                          for term, range_, value, unit in values]
        head = [f"name {self.name}-{overhead}", f"about simulated, after {PROFILES[self.name]}",
                "status complete"]
        return "\n".join(head + lines + [f"end {len(head) + len(lines)}"]) + "\n"
