"""From results (peers.py) to the table."""


def best_of(results):
    """The least value of each (part, peer, type, size), over rounds and variants, with the spread of its own variant's rounds."""
    best = {}
    for result in results:
        key = (result["part"], result["peer"], result["type"], result["size"])
        if key not in best or result["value"] < best[key]["value"]:
            best[key] = result
    for key, winner in best.items():
        same = [r["value"] for r in results
                if (r["part"], r["peer"], r["type"], r["size"]) == key and r["variant"] == winner["variant"]]
        best[key] = {**winner, "rounds": len(same), "spread": max(same) / min(same)}
    return best


def number(value):
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def ratio_row(name, ratios):
    return f"| **{name}** | | " + " | ".join("-" if ratio is None else f"**{ratio:.2f}x**" for ratio in ratios) + " |"


def ratio(best, mine, others, key):
    """How many times faster continuo is than the fastest of the others at that size."""
    theirs = [best[found]["value"] for found in best if (found[0], found[3]) == (mine[0], key) and (found[1], found[2]) in others]
    own = best.get((mine[0], "continuo", mine[1], key))
    return min(theirs) / own["value"] if own and theirs else None


def peers_of(best, part, weights=None):
    """In the order in which they were measured."""
    names = []
    for found in best:
        if found[0] == part and (weights is None or found[2] == weights) and (found[1], found[2]) not in names:
            names.append((found[1], found[2]))
    return names


def linear_table(best, types, rows, ratios=True):
    lines = ["| weights | who | " + " | ".join(f"{count} rows, ms" for count in rows) + " |", "|---" * (2 + len(rows)) + "|"]
    for weights in types:
        names = peers_of(best, "linear", weights)
        for peer, _ in names:
            cells = []
            for count in rows:
                found = best.get(("linear", peer, weights, count))
                variant = f" ({found['variant']})" if found and found["variant"] else ""
                cells.append(f"{number(found['value'])}{variant}" if found else "-")
            lines.append(f"| {weights} | {peer} | " + " | ".join(cells) + " |")
        for name, prefix in (("ggml's best / continuo", "ggml"), ("OpenVINO / continuo", "OpenVINO")):
            others = [found for found in names if found[0].startswith(prefix)]
            if others and ratios:
                lines.append(ratio_row(f"{weights}: {name}", [ratio(best, ("linear", weights), others, count) for count in rows]))
    return lines


def program_table(best, clips, ratios=True):
    lines = ["| who | weights | " + " | ".join(f"{count} at once, s | ms a step" for count in clips) + " |",
             "|---" * (2 + 2 * len(clips)) + "|"]
    names = peers_of(best, "program")
    for peer, weights in names:
        cells = []
        for count in clips:
            found = best.get(("program", peer, weights, count))
            variant = f" ({found['variant']})" if found and found["variant"] else ""
            cells.append(f"{number(found['value'])}{variant} | {number(found['about']['step_ms'])}" if found else "- | -")
        lines.append(f"| {peer} | {weights} | " + " | ".join(cells) + " |")
    for own in [weights for peer, weights in names if peer == "continuo" and ratios]:
        for other in [name for name in names if name[0] != "continuo"]:
            cells = []
            for count in clips:
                found = ratio(best, ("program", own), [other], count)
                cells.append("- | " if found is None else f"**{found:.1f}x** | ")
            lines.append(f"| **{other[0]} / continuo {own}** | | " + " | ".join(cells) + " |")
    return lines


def about_lines(best, run):
    lines = [f"{run['cpu']}, {run['threads']} threads, {run['date']}. Everyone once in a round, by turns; the best of "
             f"{run['rounds']} rounds."]
    measured = [result["about"]["bandwidth_gbs"] for result in run["results"] if "bandwidth_gbs" in result["about"]]
    if measured:
        lines.append(f"Memory read at {max(measured):.0f} GB/s by `continuo bench` in the same run.")
    said = []
    for result in best.values():
        about = result["about"]
        version = f" {about['version']}" if "version" in about else ""
        sentence = f"{result['peer']}{version}: {about.get('isa', '')}"
        if sentence not in said and (result["peer"] != "continuo" or "version" in about):
            said.append(sentence)
    lines += [f"- {sentence}" for sentence in said]
    for about in (result["about"] for result in best.values()):
        if about.get("steps_run", 0) < about.get("steps", 0):
            lines.append(f"- transformers ran the first {about['steps_run']} of {about['steps']} steps, which attend to less "
                         "than the others; their mean stands for all. Text and codec were run whole.")
            break
    worst = max(best.values(), key=lambda result: result["spread"], default=None)
    if worst and worst["rounds"] > 1:
        lines.append(f"- Rounds differ by up to {worst['spread'] - 1:.0%} ({worst['peer']}, {worst['type']}, {worst['size']} "
                     f"{'rows' if worst['part'] == 'linear' else 'at once'}).")
    if run["busy"] > 0.05:
        lines.append(f"- **Not quiet**: other programs used up to {run['busy']:.0%} of the processors just before a measurement. "
                     "Programs that wait by spinning suffer more from that than others; do not quote these figures.")
    if run["stopped"]:
        lines.append("- **Stopped early**: some have had fewer rounds, or none.")
    lines += [f"- Not measured: {peer}: {why}" for peer, why in run["missing"].items()]
    return lines


def table(run):
    best = best_of(run["results"])
    lines = [f"# continuo and others{run['title']}", "", *about_lines(best, run), ""]
    if peers_of(best, "linear"):
        weights = 14 * run["layers"] * run["width"] ** 2 + 8192 * run["width"]
        heading = "" if run["smoke"] else f", {weights / 1e6:.0f} M weights"
        lines += [f"## All linear layers of a step{heading}", "",
                  "continuo's are those of its model file, whose heads (2% of musicgen-small's weights) are q8_0 in either type; "
                  "the others have random weights of the same sizes, all of the type named.", "",
                  *linear_table(best, run["types"], run["rows"], not run["smoke"]), ""]
    if peers_of(best, "program"):
        kv = f"keys and values of continuo: {run['kv']}" if run["kv"] else "keys and values of continuo: its default"
        lines += [f"## A whole clip of {run['seconds']:g} s", "",
                  f"Guidance 3; text, decoder and codec, without loading; {kv}.", "",
                  *program_table(best, run["clips"], not run["smoke"]), ""]
    return "\n".join(lines)
