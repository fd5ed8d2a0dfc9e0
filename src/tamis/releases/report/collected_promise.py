"""What a release of devices' reports promises: in plain words with its numbers, and formally."""

from __future__ import annotations

import math

from tamis.privacy.errors import counted
from tamis.privacy.guarantee import REPLACED
from tamis.releases.collected.about import AboutCollected
from tamis.releases.collected.collected import Collected
from tamis.releases.report.promise import factor
from tamis.releases.report.text import listed, many, one_in, percent, safe, small, table


def facts(release: Collected) -> str:
    """The handful of numbers that come first."""
    about, g = release.about, release.guarantee
    what = "quantiles" if about.kind == "quantiles" else "items named"
    return listed(
        {
            what: f"{len(release):,}",
            "epsilon": small(g.epsilon),
            "delta": small(g.delta),
            "protected": "one client",
            "least count shown": counted(about.mechanism.tau, "client"),
            "made on": safe(about.day),
        }
    )


def plainly(release: Collected) -> str:
    """The guarantee for a person without mathematics."""
    about, g = release.about, release.guarantee
    even = 1 / (1 + math.exp(-g.epsilon))
    depends, find = _question(about)
    each = " in a round" if about.mechanism.rounds > 1 else ""
    return f"""
<p class="lead">Devices, called clients here, were asked: <em>{safe(about.question)}</em> This
release says {_says(release)} It was made at random in such a way that it hardly depends on
{depends}.</p>
<p>{coins(about)}</p>
<p>Picture somebody who knows everything else: what all other clients hold, the method, and any
other source there is. They want to find out {find}.</p>
<ul>
<li>Whatever odds they would give beforehand, this release changes them by a factor of at most
<strong>{factor(g.epsilon)}</strong> (e to the power epsilon, with epsilon = {small(g.epsilon)}).
If they thought it as likely as not, they end up between {percent(1 - even)} and
{percent(even)} sure.</li>
<li>That may fail with a probability of at most <strong>{one_in(g.delta)}</strong>
(delta = {small(g.delta)}).</li>
<li>{_crowd(about)}</li>
</ul>
<p>Each client counted once{each}, for one answer. A person with several devices is protected less:
with two, the factor is {factor(2 * g.epsilon)} and not {factor(g.epsilon)}, and so on.</p>
"""


def formally(about: AboutCollected) -> str:
    """The guarantee as a statement, and every parameter behind it."""
    g, m = about.guarantee, about.mechanism
    replaced = g.neighbours == REPLACED
    differ = (
        "in what one client holds"
        if replaced
        else "by one client, who holds one item and is in one of them only"
    )
    exact = m.rounds == 1 and not replaced
    bound = "" if exact else ", for all rounds together and rounded up"
    league = ""
    if m.colluding:
        league = (
            f" It also holds for a reader who controls up to {counted(m.colluding, 'client')}, "
            "and decides what they report."
        )
    return f"""
<p>Let <em>M</em> be the release, as a random function of what the clients hold. For any two sets of
clients <em>D</em> and <em>D′</em> that differ {differ}, and for any set <em>T</em> of results:</p>
<p class="formula">Pr[<em>M</em>(<em>D</em>) ∈ <em>T</em>] ≤ e<sup>{small(g.epsilon)}</sup> ·
Pr[<em>M</em>(<em>D′</em>) ∈ <em>T</em>] + {small(g.delta)}</p>
<p>This is (epsilon, delta)-differential privacy, in the central model: for those who see the
release. The delta that it takes was computed in whole numbers{bound}, and comes to
{percent(m.spent / g.delta)} of what is promised. All of it rests on the coins of the clients: it
holds if each of them tosses one coin in a round and is counted once, and if nothing else is
published: not how many clients took part, nor how many reported.{league}</p>
{table(["what", "value"], _parameters(about), "Every parameter of the guarantee", "parameters")}
"""


def coins(about: AboutCollected) -> str:
    """How clients were sampled, and what was left out."""
    m = about.mechanism
    when = f", anew in each of {m.rounds} rounds" if m.rounds > 1 else ""
    what = "ranges" if about.kind == "quantiles" else "answers"
    return (
        f"No noise was added. Each client tossed a coin of its own{when}, and counted with a "
        f"probability of {percent(m.p)} only. Of those that counted, {what} that fewer than "
        f"{m.tau:,} gave were left out."
    )


def _says(release: Collected) -> str:
    about, named = release.about, len(release)
    if about.kind == "quantiles":
        return (
            f"up to which numbers given shares of the clients lie: it holds "
            f"{counted(named, 'quantile')} of whole numbers from 0 to {many(about.domain - 1)}."
        )
    items = counted(named, "item") if named else "no item"
    which = "many clients gave" if about.mechanism.tau > 1 else "clients gave"
    return f"which answers {which}, and about how many gave each. It names {items}."


def _question(about: AboutCollected) -> tuple[str, str]:
    """What the release hardly depends on, and what somebody wants to find out."""
    if about.guarantee.neighbours == REPLACED:
        return (
            "what any one client holds",
            "which of two things one client of their choice holds",
        )
    return (
        "whether any one client took part",
        "whether one client of their choice took part, and with what",
    )


def _crowd(about: AboutCollected) -> str:
    tau = about.mechanism.tau
    if about.kind == "quantiles":
        return (
            f"Nobody stands alone: the search saw only counts of at least {tau:,} different "
            "clients, and counted as empty what fewer were in."
        )
    if tau == 1:
        return (
            "<b>Somebody may stand alone</b>: the threshold is 1, so what a single client holds is "
            f"named with a probability of {percent(about.mechanism.p)}. Only delta stands for that."
        )
    return (
        f"Nobody stands alone: each item was given by at least {tau:,} different clients that "
        "counted. What only one client holds is never named."
    )


def _parameters(about: AboutCollected) -> list[list[str]]:
    g, m = about.guarantee, about.mechanism
    held = f"whole numbers from 0 to {many(about.domain - 1)}" if about.domain else "text"
    return [
        ["epsilon", repr(g.epsilon)],
        ["delta", repr(g.delta)],
        ["unit", safe(g.unit)],
        ["neighbours", safe(g.neighbours)],
        ["items per client", "1"],
        ["what was asked for", safe(about.kind)],
        ["what clients hold", held],
        ["query", f"<code>{safe(about.query)}</code>"],
        ["rounds, at most", f"{m.rounds:,}"],
        ["probability p that a client counts in a round", f"{m.parts:,} / 2³² = {m.p:.6g}"],
        ["least count tau that is released", f"{m.tau:,}"],
        ["clients that a reader may control", f"{m.colluding:,}"],
        ["coverage of intervals", f"{about.coverage:.6g}"],
        ["made with", f"tamis {safe(about.library)}"],
    ]
