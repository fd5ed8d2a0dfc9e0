"""What is promised: in plain words with the numbers of the release, and formally."""

from __future__ import annotations

import math

from tamis.privacy.errors import counted
from tamis.privacy.guarantee import NEIGHBOURS
from tamis.releases.about import About
from tamis.releases.release import Release
from tamis.releases.report.text import listed, one_in, percent, safe, small, table
from tamis.releases.summary.about import AboutSummary
from tamis.sampling.schemes import Scheme


def facts(release: Release) -> str:
    """The handful of numbers that come first."""
    g = release.guarantee
    said = {
        "keys named": f"{len(release):,}",
        "epsilon": small(g.epsilon),
        "delta": small(g.delta),
        "protected": one_unit(release.about),
        "made on": safe(release.about.day),
    }
    return listed(said)


def plainly(release: Release) -> str:
    """The guarantee for a person without mathematics."""
    about, g = release.about, release.guarantee
    one, even = one_unit(about), 1 / (1 + math.exp(-g.epsilon))
    names = " and ".join(f"<code>{safe(name)}</code>" for name in about.key)
    keys = counted(len(release), "key") if len(release) else "no key"
    return f"""
<p class="lead">This release says which values of {names} occur in a set of data, and about how
often. It names {keys}. {_part(about)}It was made at random in such a way that it hardly depends on
whether {one} was in the data or not.</p>
<p>Picture somebody who knows everything else: all the rest of the data, the method, and any other
source there is. They want to find out whether {one} of their choice was in the data.</p>
<ul>
<li>Whatever odds they would give beforehand, this release changes them by a factor of at most
<strong>{factor(g.epsilon)}</strong> (e to the power epsilon, with epsilon = {small(g.epsilon)}).
If they thought it as likely as not, they end up between {percent(1 - even)} and
{percent(even)} sure.</li>
<li>That may fail with a probability of at most <strong>{one_in(g.delta)}</strong>
(delta = {small(g.delta)}).</li>
<li>What nobody else has stays unnamed: if a key occurs only because of {one}, the chance that it
is named is at most {one_in(g.delta)}.</li>
</ul>
<p>{bounds(about)} {_counted(about)} {_nulls(about)} {chosen(about)}</p>
"""


def formally(release: Release) -> str:
    """The guarantee as a statement, and every parameter behind it."""
    about, g = release.about, release.guarantee
    return f"""
<p>Let <em>M</em> be the release, as a random function of the data. For any two sets of data
<em>D</em> and <em>D′</em>, one of which is the other with one unit added ({one_unit(about)}, with
at most {counted(g.keys_per_unit, "key")} and at most {counted(g.elements_per_key, "element")} in
each), and for any set <em>T</em> of results:</p>
<p class="formula">Pr[<em>M</em>(<em>D</em>) ∈ <em>T</em>] ≤ e<sup>{small(g.epsilon)}</sup> ·
Pr[<em>M</em>(<em>D′</em>) ∈ <em>T</em>] + {small(g.delta)}</p>
<p>This is (epsilon, delta)-differential privacy. Whether a key is named, and with which token, is
decided by comparing whole numbers, so that no rounding weakens it.</p>
{table(["what", "value"], _parameters(about), "Every parameter of the guarantee", "parameters")}
"""


def one_unit(about: About | AboutSummary) -> str:
    """What is protected, in words; ready HTML."""
    if about.guarantee.unit == "element":
        return "one row" if about.counted == "rows" else "one element"
    return f"one <code>{safe(about.guarantee.unit)}</code>"


def factor(epsilon: float) -> str:
    """e^epsilon, as far as that can be pictured.

    >>> factor(1.0), factor(0.1), factor(1000)
    ('2.72', '1.11', 'e¹⁰⁰⁰')
    """
    if epsilon > 100:
        return "e" + f"{epsilon:.0f}".translate(_RAISED)
    grown = math.exp(epsilon)
    return small(float(f"{grown:.3g}")) if grown >= 1e5 else f"{grown:,.3g}"


def scheme_in_words(scheme: Scheme) -> str:
    """Which keys were looked at, w being their frequency."""
    rule = scheme.rule()
    if rule["name"] == "everything":
        return "all keys (nothing was sampled)"
    if rule["name"] == "custom":
        return f"with custom probabilities in {counted(len(rule['steps']), 'step')}"
    size = f"{rule['tau']} w" + ("" if rule["power"] == "1.0" else f"^{rule['power']}")
    q = f"min(1, {size})" if rule["name"] == "pps" else f"1 - exp(-{size})"
    return f"with probability {q}"


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def bounds(about: About | AboutSummary, key: str = "key", frequency: str = "frequency") -> str:
    """How much one unit counted for."""
    g = about.guarantee
    if g.unit == "element":
        each = "Each row stands" if about.counted == "rows" else "Each element stands"
        return (
            f"{each} for itself. A person to whom several of them belong is protected less: with "
            f"two, the factor is {factor(2 * g.epsilon)} and not {factor(g.epsilon)}, and so on."
        )
    unit = f"<code>{safe(g.unit)}</code>"
    return (
        f"Each {unit} counted for at most {counted(g.keys_per_unit, key)}, and for at most "
        f"{g.elements_per_key:,} in the {frequency} of each. Where there was more, so much was "
        "kept, chosen at random, and the rest was left out."
    )


def _counted(about: About) -> str:
    if about.counted == "counts":
        return "The data had been counted before: frequencies are sums of given counts."
    if about.guarantee.unit == "element" or about.guarantee.elements_per_key > 1:
        return "The frequency of a key is the number of its rows" + (
            "." if about.guarantee.unit == "element" else ", as far as they were kept."
        )
    return (
        f"The frequency of a key is the number of different <code>{safe(about.guarantee.unit)}"
        "</code> that have it, as far as they were kept."
    )


def _nulls(about: About) -> str:
    if about.nulls == "keep":
        return "Rows without a key were counted under the key NULL."
    return "Rows without a key (NULL) were left out."


def chosen(about: About | AboutSummary) -> str:
    """That there was a condition, if there was one."""
    if not about.filtered:
        return ""
    return (
        "<strong>Only rows that satisfy a condition were counted.</strong> The condition is not in "
        "the release, because its text may hold what is private: ask whoever made it."
    )


def _part(about: About) -> str:
    if not about.part:
        return ""
    return "<strong>It is a part of what was released</strong>: other rows were left out. "


def _parameters(about: About) -> list[list[str]]:
    g, plan = about.guarantee, about.plan
    return [
        ["epsilon", repr(g.epsilon)],
        ["delta", repr(g.delta)],
        ["unit", safe(g.unit)],
        ["neighbours", NEIGHBOURS],
        ["keys per unit, at most", f"{g.keys_per_unit:,}"],
        ["elements per key of a unit, at most", f"{g.elements_per_key:,}"],
        ["what was counted", safe(about.counted)],
        ["rows chosen by a condition", "yes" if about.filtered else "no, all were counted"],
        ["rows of the release", "a part of them" if about.part else "all"],
        ["NULL keys", "kept as a key" if about.nulls == "keep" else "dropped"],
        ["keys looked at, w being their frequency", safe(scheme_in_words(plan.scheme))],
        ["privacy curve of one key", safe(plan.curve.describe())],
        ["tokens", safe(plan.mechanism.tokens)],
        ["coverage of intervals", f"{plan.coverage:.6g}"],
        ["made with", f"tamis {safe(about.library)}"],
    ]
