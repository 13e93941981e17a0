"""The second step: the template of each message, found by Drain as messages come (He et al., ICWS 2017; the library drain3).

`Miner` is the pure part; each task keeps one, for messages with the numbers of words that belong to the task. At the root Drain's tree
branches by that number, so all tasks together find what one Drain would find that saw every message, while no template is forgotten.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

from drain3.drain import Drain

from pasps import Bolt, TopologyContext, Tuple
from pasps.errors import ConfigError
from topologies.number_keys import above_zero, whole
from topologies.recent import Recent


@dataclass(frozen=True, slots=True)
class Template:
    """A template as it was when a line came.

    Attributes:
        id: Made from the text, so that it is the same wherever and whenever the text is found.
        text: With wildcards for what was seen to vary, until then.
        origin: The id of the text that it began with: the same for as long as this miner knows the template, however it changes.
    """

    id: str
    text: str
    origin: str


def template_id(text: str) -> str:
    """Sixteen hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


class Miner:
    """Templates of messages as they come; at most `most`: the ones unused for longest are forgotten first."""

    def __init__(self, most: int = 1024, similarity: float = 0.4) -> None:
        self._drain = Drain(depth=4, sim_th=similarity, max_clusters=most)
        self.origins: dict[int, str] = {}
        """By Drain's number of the template; some are of templates that are forgotten, at most `most`."""
        self._most = most

    def add(self, content: str) -> Template:
        """The template of a masked message, made or widened where it must be; the same message may have another one later."""
        cluster, _ = self._drain.add_log_message(content)
        text = cluster.get_template()
        found = template_id(text)
        origin = self.origins.get(cluster.cluster_id)
        if origin is None:
            origin = self.origins[cluster.cluster_id] = found
            self._forget()
        return Template(found, text, origin)

    def __len__(self) -> int:
        return len(self._drain.id_to_cluster)

    def _forget(self) -> None:
        """The origins of templates that Drain has forgotten; seldom, for it looks at all."""
        if len(self.origins) > 2 * self._most:
            known = self._drain.id_to_cluster
            self.origins = {number: origin for number, origin in self.origins.items() if number in known}


class Templates(Bolt):
    """The template of each line. A line that comes again gets the template of the first time, and widens none.

    Keys: `logs.templates.max`, templates that a task keeps (1024); `logs.similarity`, the share of words in which a message must
    agree with a template to be its (0.4).
    """

    outputs = ["event", "line", "template", "origin"]
    remembered = 4096

    def initialize(self, conf: dict[str, Any], ctx: TopologyContext) -> None:
        where = f"component {ctx.component_id!r}"
        similarity = above_zero(conf, "logs.similarity", 0.4, where)
        if similarity > 1:
            raise ConfigError("logs.similarity", f"must be at most 1, got {similarity!r}", where=where)
        self.miner = Miner(whole(conf, "logs.templates.max", 1024, 1, 10_000_000, where), similarity)
        self.recent: Recent[Template] = Recent(self.remembered)

    def process(self, tup: Tuple) -> None:
        event, line, content, _ = tup.values
        template = self.recent.get(event) or self.recent.keep(event, self.miner.add(content))
        self.emit([event, line, template, template.origin])
