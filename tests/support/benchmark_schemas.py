"""The schemas of a benchmark's files, made from its records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from judgeharness_integrations.audit.labels import Assignment, AuditLabel
from judgeharness_integrations.benchmark.folder import Settings
from judgeharness_integrations.benchmark.pair import Document, Pair, Record
from judgeharness_integrations.benchmark.results.curation import CurateReport, ExportReport
from judgeharness_integrations.benchmark.results.judgments import Judgment
from judgeharness_integrations.benchmark.verdicts import StatsReport

__all__ = ["RECORDS", "record_schema"]

RECORDS: dict[str, tuple[type[Record], str]] = {
    "benchmark-1": (Settings, "What a benchmark was made with: `benchmark.json` of its folder"),
    "benchmark_document-1": (Document, "A document a benchmark draws on: one line of `documents.jsonl`"),
    "benchmark_pair-1": (Pair, "A pair of conversations: one line of `pairs.jsonl`, `curated.jsonl` and exports"),
    "benchmark_judgment-1": (Judgment, "What a judge decided about a pair: one line of `judgments.jsonl`"),
    "benchmark_curate-1": (CurateReport, "Pairs curated: what `judgeharness benchmark curate --json` prints"),
    "benchmark_stats-1": (StatsReport, "What became of pairs: what `judgeharness benchmark stats --json` prints"),
    "benchmark_export-1": (
        ExportReport,
        "An export: `export.json`, and what `judgeharness benchmark export --json` prints",
    ),
    "audit_label-1": (AuditLabel, "What a person said about a pair: one line of `audit/labels/<annotator>.jsonl`"),
    "audit_assignment-1": (Assignment, "Who labels which pairs: `audit/assignment.json`"),
}

_STEPS = {
    "column": "Column of the pairs; null: all of them.",
    "value": "Value in the column; - for pairs without one.",
}
_GROUNDED = "Share of a turn's claims that must be grounded, 0 to 1."
_JUDGED = "Pairs a judge was asked about."
_TOKENS = "{}, summed; null where an answer did not say."
# record -> field -> what it is, where the record itself does not say
DESCRIPTIONS: dict[str, dict[str, str]] = {
    "Settings": {
        "n": "Pairs planned.",
        "drawing": "How conditions are drawn.",
        "generator": "Model that writes the pairs; null where several did, or nobody knows.",
        "verifier": "Model that checks them; null: none yet.",
        "min_grounded": _GROUNDED,
        "documents": "Digest of what documents.jsonl holds.",
        "taxonomy": "Digest of what taxonomy.json holds.",
        "imported_from": "Name of the file the benchmark was converted from; null: it was generated.",
    },
    "Drawing": {
        "seed": "Seed of every draw.",
        "rounds": "Fewest and most rounds of a conversation.",
        "documents_per_pair": "Documents a pair draws on.",
        "most_characters": "Characters of chunks that a pair may draw on, at most.",
        "weights": "Failure type, behaviour or document -> weight of the draw; 1 for those not named.",
    },
    "Document": {
        "document_id": "Id of the document.",
        "title": "Its title.",
        "domain": "The domain it belongs to.",
        "source": "Name of the file it was read from, without folders.",
        "chunks": "Its pieces, in their order.",
    },
    "Chunk": {
        "chunk_id": "Id of the piece: document#number.",
        "text": "Its text.",
        "heading": "Path of headings it stands under; null: none.",
        "page": "Page of a PDF, from 1; null for other files.",
    },
    "Pair": {
        "conditions": "What the pair was to be.",
        "generator": "Model that wrote it.",
        "blueprints": "Plans of both conversations; null where none were written.",
        "conversations": "Both conversations; null where none were written.",
        "verification": "What was checked of it.",
    },
    "Conditions": {
        "pair_id": "Id of the pair.",
        "number": "Place of the pair, from 0.",
        "failure_type": "How the worse assistant fails.",
        "behaviour": "How the user behaves.",
        "n_rounds": "Rounds of each conversation; a round is a question and its answer.",
        "flawed_round": "Round with the flaw, from 1.",
        "better": "Side of the conversation without the flaw.",
        "domain": "Domain of the first document.",
        "documents": "Ids of the documents it draws on.",
        "chunks": "Ids of the chunks both conversations may draw on.",
    },
    "Blueprints": {"better": "Plan of the conversation without the flaw.", "worse": "Plan of the one with the flaw."},
    "Blueprint": {
        "rounds": "What happens in each round.",
        "sketch": "How the flaw will show, or how the better one handles the same pressure.",
    },
    "RoundPlan": {
        "round": "Number of the round, from 1.",
        "user": "What the user asks.",
        "chunk": "Id of the chunk it draws on; null: none.",
        "assistant": "What the assistant answers.",
    },
    "Conversations": {"better": "The conversation without the flaw.", "worse": "The one with the flaw."},
    "Conversation": {"turns": "The rounds."},
    "Turn": {
        "round": "Number of the round, from 1.",
        "user": "What the user says.",
        "assistant": "What the assistant says.",
    },
    "Verification": {
        "verifier": "Model that checked; null: nobody yet.",
        "min_grounded": _GROUNDED,
        "layers": "What each layer said, in the order they run.",
    },
    "LayerResult": {
        "layer": "The layer.",
        "status": "passed, failed, unread (no answer of the verifier could be read) or not_run.",
        "reasons": "Why it failed or could not be read.",
        "counts": "Name -> how many of what the layer looked at.",
        "turns": "Claims of each turn; of the grounding layer alone.",
    },
    "TurnGrounding": {
        "side": "The conversation.",
        "round": "Number of the round, from 1.",
        "claims": "Atomic claims of the assistant's turn.",
    },
    "Claim": {
        "claim_id": "round.claim, both from 1.",
        "text": "The claim.",
        "grounded": "Whether the documents hold it; null: the verifier did not decide, which counts as not grounded.",
        "chunk": "Id of the chunk the verifier named; null: none.",
        "evidence": "Words of the documents it named; null: none.",
        "evidence_found": "Whether those words stand there; null without any.",
        "reason": "Its reason; null: none given.",
    },
    "Judgment": {
        "pair_id": "Id of the pair.",
        "judge": "Name of the judge.",
        "mode": "pairwise: both conversations at once; pointwise: each by itself, the higher score wins.",
        "rule": "both_orders: what both orders agree on; one_order: the order as given.",
        **{name: f"The {name} it decided on; null unless it did." for name in ("verdict", "turn", "type")},
        **{
            f"{name}_status": f"Whether it decided about the {name}; not_asked: an order the rule needs is missing."
            for name in ("verdict", "turn", "type")
        },
        **{
            f"{name}_correct": f"Whether the {name} is right; undecided and failed are not; null: not asked."
            for name in ("verdict", "turn", "type")
        },
        "joint": "Whether verdict, turn and type are all right; null: not asked.",
    },
    "CurateReport": {
        "mode": "Which answers it goes by.",
        "rule": "What is right: the rule of the ranking.",
        "cut": "Share of the hardest pairs that was to be left out.",
        "cut_ties": "Whether pairs tied at the cut are kept or cut.",
        "audited": "Whether people labelled any pair.",
        "keeps_noise": "Whether pairs people found to be noise are kept all the same.",
        "pairs": "Pairs that verification did not reject.",
        "judged": "Pairs of these that a judge was asked about.",
        "alone": "Pairs all right or all wrong by the answer of one judge alone, which tells nobody apart.",
        "kept": "Pairs of these in curated.jsonl.",
        "steps": "What became of the judged pairs: all of them, then by column and value.",
        "judges": "Judges before and after, by their rank after.",
        "drops_ambiguous": "Whether pairs people found ambiguous, or are evenly split on, are left out.",
        "dropped": "Judged pairs left out for what people found.",
    },
    "Dropped": {
        "pair": "Id of the pair.",
        "found": "What people found it to be.",
        "divided": "Whether as many of them found something else.",
    },
    "Survival": {
        "step": "What pairs have to come through.",
        "entered": "Pairs that came so far.",
        "lost": "Pairs it took.",
        "left": "Pairs that came through.",
        "rate": "Share of those that entered; null: none did.",
        "share": "Share of all planned pairs; null: none was planned.",
    },
    "Step": _STEPS
    | {
        "judged": _JUDGED,
        "flagged": "Pairs people found to be noise.",
        "ambiguous": "Pairs people found ambiguous, where these are left out.",
        "unanimous_right": "Pairs all judges asked were right about.",
        "unanimous_wrong": "Pairs all judges asked were wrong about.",
        "unanswered": "Pairs without an answer that counts.",
        "hardest": "Pairs cut as the hardest.",
        "kept": "Pairs that are kept.",
    },
    "CuratedJudge": {
        "judge": "Name of the judge.",
        "rank_before": "Rank by all judged pairs; null: it cannot be rated.",
        "rank": "Rank by the pairs that were kept; null: it cannot be rated.",
        "elo_before": "Elo by all judged pairs.",
        "elo": "Elo by the pairs that were kept.",
        "se_before": "Standard error of elo_before.",
        "se": "Standard error of elo.",
    },
    "StatsReport": {
        "generator": "Model that wrote the pairs; null where several did, or nobody knows.",
        "verifier": "Model that checked them; null: none yet.",
        "imported_from": "Name of the file the benchmark was converted from; null: it was generated.",
        "min_grounded": _GROUNDED,
        "flow": "What became of the planned pairs up to the judges: all of them, then by column and value.",
        "reasons": "Most frequent reasons of each layer that rejected pairs.",
        "mode": "Which answers the steps go by; null: nobody was asked.",
        "judges": "Judges that were asked.",
        "cut": "Share of the hardest pairs the steps show as cut.",
        "cut_reason": "Why none could be cut; null: they could.",
        "alone": "Pairs all right or all wrong by the answer of one judge alone, which tells nobody apart.",
        "steps": "What became of the judged pairs: all of them, then by column and value.",
        "costs": "What each step took of each model.",
        "total_cost": "Money in all; null where that of a step is not known, or nothing was asked.",
        "audited": "What people found; null: nobody labelled a pair.",
        "controls": "What judges that read nothing get right of the judged pairs, and who is not better than the best.",
        "cascade": "From the plan to what is kept: every step, of all pairs.",
    },
    "FlowRow": _STEPS
    | {
        "planned": "Pairs planned: the sum of all endings.",
        "unfinished": "Pairs not written yet.",
        **{name: f"Pairs rejected by the {name} layer." for name in ("form", "coherence", "adherence", "grounding")},
        "unread": "Pairs about which no answer of the verifier could be read.",
        "unverified": "Pairs nobody checked.",
        "accepted": "Pairs that passed every layer.",
        "judged": "Pairs that were not rejected and that a judge was asked about.",
    },
    "Reason": {
        "layer": "The layer.",
        "reason": "What was said of the example.",
        "pairs": "Pairs rejected for a reason alike, but for numbers and details.",
        "example": "Id of the first of them.",
    },
    "Cost": {
        "step": "What was asked for.",
        "model": "Model that was asked; the judge's name for judges.",
        "answers": "Answers; of judges, calls.",
        "attempts": "Attempts at them, retries included.",
        "input_tokens": _TOKENS.format("Tokens read"),
        "output_tokens": _TOKENS.format("Tokens written"),
        "cost": "Money by the prices given; null where no price or not all tokens are known.",
    },
    "Audited": {
        "annotators": "Who labelled.",
        "pairs": "Pairs with a label they agree on by majority, an even split being ambiguous.",
        "clean": "Clean pairs among them.",
        "ambiguous": "Ambiguous pairs among them.",
        "noise": "Noise among them.",
        "sampled": "Labelled pairs of the uniform sample.",
        "sampled_noise": "Noise among those.",
        "noise_rate": "Share of noise among those; null without an assignment, or labels.",
        "noise_low": "Lower end of its 95 % interval.",
        "noise_high": "Upper end of its 95 % interval.",
        "agreement": "How each two annotators agree.",
    },
    "AnnotatorPair": {
        "annotators": "The two.",
        "pairs": "Pairs that both labelled.",
        "agreed": "Pairs of these with the same label.",
        "kappa": "Cohen's kappa; null where it is undefined.",
    },
    "ExportReport": {
        "format": "Field names of the files: native, or those of the public release.",
        "scope": "What the export is for, and what not.",
        "mode": "Which answers difficulty goes by; null: nobody was asked.",
        "rule": "What is right: the rule of the ranking; null: nobody was asked.",
        "judges": "Judges that difficulty goes by.",
        "seed": "Seed the benchmark was drawn with.",
        "bands": "Bands of difficulty.",
        "audited": "Whether people labelled any pair.",
        "pairs": "Pairs with conversations that verification did not reject.",
        "noise": "Pairs people found to be noise, in no file.",
        "unanswered": "Pairs without an answer that counts, in no file.",
        "unjudged": "Pairs no judge was asked about, in no file.",
        "alone": "Pairs that one judge alone answered, in no file.",
        "unplaced": "Pairs without a difficulty, in no file.",
        "files": "The files: bands from the easiest to the hardest, unanimous pairs, held-out pairs.",
    },
    "Band": {
        "name": "Name of the file, without its ending.",
        "pairs": "Pairs in it.",
        "easiest": "Lowest Elo of its pairs, on the judges' scale; null for files that are no bands.",
        "hardest": "Highest Elo of its pairs; null for files that are no bands.",
    },
    "AuditLabel": {
        "pair_id": "Id of the pair.",
        "annotator": "Who says so.",
        "label": "What the pair is; null: an earlier label is taken back.",
        "note": "What the annotator wrote; may be empty.",
        "sequence": "Number of the line, from 1; the last one about a pair counts.",
    },
    "Assignment": {
        "seed": "Seed of the draw.",
        "pool": "Pairs the sample was drawn from.",
        "overlap": "Share of the sample that every annotator was to label.",
        "uniform": "Ids of the uniform sample; a noise rate is one of these alone.",
        "shared": "Ids of those every annotator labels.",
        "suspicious": "Ids of pairs chosen because of what judges said.",
        "bundles": "Annotator -> ids of the pairs to label, in order.",
    },
}


# fields that documents written before do not have
_LATER = {
    "CurateReport": ("drops_ambiguous", "dropped"),
    "StatsReport": ("cascade",),
    "Step": ("ambiguous",),
}


def record_schema(name: str) -> dict[str, Any]:
    """Return the schema of a document that is a record."""
    record, title = RECORDS[name]
    made = record.model_json_schema(mode="serialization", by_alias=True)
    defs = {key: _plain(part) for key, part in made.pop("$defs", {}).items()}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"{name}.json", "title": title}
    whole = {**head, **{key: value for key, value in _plain(made).items() if key != "title"}}
    return whole | ({"$defs": defs} if defs else {})


def _plain(node: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a record without what pydantic adds to every field, and with what each field is."""
    record = node["title"]
    properties = {key: dict(_stripped(part)) for key, part in node["properties"].items()}
    for key, part in properties.items():
        said = "Name and version of this format." if key == "schema" else DESCRIPTIONS[record].get(key)
        properties[key] = part | {"description": said or part["description"]}
    about = node["description"].split("\n\n")[0].replace("\n", " ")
    return {
        "description": about,
        "type": "object",
        "additionalProperties": False,
        "required": [key for key in properties if key not in _LATER.get(record, ())],
        "properties": properties,
    }


def _stripped(node: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        if key in ("title", "default"):
            continue
        if isinstance(value, dict):
            yield key, dict(_stripped(value))
        elif isinstance(value, list):
            yield key, [dict(_stripped(one)) if isinstance(one, dict) else one for one in value]
        else:
            yield key, value
