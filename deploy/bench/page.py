"""What the figures come to: medians and quartiles over the rounds, as a page in Markdown."""

import json
import pathlib
import statistics

from tables import TABLES, Row

WAITS = ["p50_us", "p99_us", "p99.9_us"]


def text(folder: pathlib.Path) -> str:
    """The page of all tables whose figures are in the folder."""
    parts = ["# Figures", "", "Written by `deploy/bench/run.py`, whose README says how they are measured.", ""]
    for table, rows in TABLES.items():
        file = folder / f"{table}.json"
        if file.exists():
            parts += section(json.loads(file.read_text()), rows)
    if (file := folder / "endpoints.json").exists():
        parts += endpoints(json.loads(file.read_text()))
    return "\n".join(parts)


def section(facts: dict, rows: list[Row]) -> list[str]:
    lines = [
        *heading(facts, f"{facts['rounds']} rounds of {facts['seconds']:g} s"),
        "| shape | server | CPU us | of the anchor | goal | per second | p50 / p99 / p99.9 ms | MiB | errors |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        own = [sample for sample in facts["samples"] if sample["row"] == row.name]
        if not own:
            continue
        anchors = [sample[side] for sample in own for side in ["before", "after"]]
        lines.append(written(row, f"{row.anchor} (anchor)", anchors, []))
        for server in ["sallyport", *row.peers]:
            if samples := [sample for sample in own if sample["server"] == server]:
                ratios = [ratio(row, sample) for sample in samples]
                lines.append(written(row, server, [sample["figures"] for sample in samples], ratios))
    lines += [f"\n{name} was not measured: it needs {what}." for name, what in facts["missing"].items()]
    return [*lines, ""]


def heading(facts: dict, amount: str) -> list[str]:
    return [
        f"## {facts['table']}",
        "",
        f"{facts['began']}, commit `{facts['commit']}`, binary `{facts['binary_sha256'][:12]}`; {facts['processor']}, "
        f"{facts['cores']} cores, {facts['system']}, load {facts['load']}; {amount}; {'; '.join(facts['programs'])}.",
        "",
    ]


def endpoints(facts: dict) -> list[str]:
    """The table of endpoints.py."""
    lines = [
        *heading(facts, f"{facts['rounds']} rounds of {facts['calls']} calls"),
        "| call | gateway, CPU us | instructions | Redis, CPU us | round trips | scripts | reads | bytes |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, figures in facts["figures"].items():
        commands = figures["commands"]
        scripts = commands.get("evalsha", 0)
        cells = [
            *[name, spread(figures["gateway_us"], 0), f"{figures['instructions']:,.0f}", spread(figures.get("redis_us", []), 0)],
            *[str(figures.get("round_trips", "")), f"{scripts:.1f}", f"{sum(commands.values()) - scripts:.1f}"],
            f"{figures['bytes']:,.0f}" if "bytes" in figures else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    if facts["late"]:
        lines.append(f"\n{facts['late']} answers came too late from Redis, as the machine did other work.")
    return [*lines, ""]


def written(row: Row, server: str, figures: list[dict], ratios: list[float]) -> str:
    """One line of a table: medians, and quartiles in brackets."""
    goal = ""
    if server == "sallyport" and row.goal is not None:
        goal = f"{row.goal:.2f}: {'met' if statistics.median(ratios) <= row.goal else 'not met'}"
    waits = [f"{median(figures, wait) / 1000:.2f}" for wait in WAITS if all(wait in figure for figure in figures)]
    cells = [
        row.name if server != "sallyport" and ratios == [] else "",
        server,
        f"{spread([figure['cost_us'] for figure in figures], 1)} a {row.unit}",
        spread(ratios, 2) + (" (p99)" if ratios and row.figure == "p99_us" else ""),
        goal,
        f"{median(figures, 'rate'):,.0f}",
        " / ".join(waits),
        f"{median(figures, 'memory_mib'):.0f}",
        str(sum(figure["errors"] for figure in figures)),
    ]
    return "| " + " | ".join(cells) + " |"


def ratio(row: Row, sample: dict) -> float:
    """The server's share of what the anchor had before and after it."""
    anchor = (sample["before"][row.figure] + sample["after"][row.figure]) / 2
    return sample["figures"][row.figure] / max(anchor, 1e-9)


def line(row: Row, sample: dict) -> str:
    """What is said of a sample while the run goes on."""
    figures = sample["figures"]
    errors = f", {figures['errors']} errors" if figures["errors"] else ""
    cost = f"{figures['cost_us']:.1f} us a {row.unit}, {figures['rate']:,.0f} a second"
    name = "p99 " if row.figure == "p99_us" else ""
    return f"{sample['round'] + 1} {row.name} {sample['server']}: {cost}, {name}{ratio(row, sample):.2f} of {row.anchor}{errors}"


def median(figures: list[dict], name: str) -> float:
    return statistics.median(figure[name] for figure in figures)


def spread(values: list[float], digits: int) -> str:
    if not values:
        return ""
    middle = f"{statistics.median(values):.{digits}f}"
    if len(values) < 2:
        return middle
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return f"{middle} ({low:.{digits}f} to {high:.{digits}f})"
