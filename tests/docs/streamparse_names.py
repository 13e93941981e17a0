"""The public names of streamparse 5.0.1 and of pystorm 3.1.4, on which it builds, by what has them; each once, where it is defined."""

from __future__ import annotations

from collections.abc import Mapping

_COMPONENT = """
    component_name config context debug emit exit_on_exception initialize is_heartbeat log logger outputs par pid raise_exception
    read_command read_handshake read_message read_task_ids report_metric run send_message serializer spec storm_conf task_id topology_name
"""
_MODULE = """
    BatchingBolt Bolt Grouping JavaBolt JavaSpout ReliableSpout ShellBolt ShellSpout Spout StormHandler Stream TicklessBatchingBolt
    Topology Tuple VERSION bolt cli component dsl run spout storm thrift util
"""
_COMMANDS = "jar kill list quickstart remove_logs run slot_usage stats submit tail update_virtualenv visualize worker_uptime"
_LOG_KEYS = "path file max_bytes backup_count level format"

NAMES: Mapping[str, tuple[str, ...]] = {
    "streamparse": tuple(_MODULE.split()),
    "Component": tuple(_COMPONENT.split()),
    "Bolt": tuple("ack auto_ack auto_anchor auto_fail emit fail is_tick process process_tick read_tuple spec".split()),
    "BatchingBolt": tuple("emit group_key process process_batch process_batches process_tick ticks_between_batches".split()),
    "TicklessBatchingBolt": ("exc_info", "process_tick", "secs_between_batches"),
    "Spout": tuple("ack activate deactivate emit fail next_tuple spec".split()),
    "ReliableSpout": tuple("ack emit fail failed_tuples max_fails unacked_tuples".split()),
    "Tuple": ("component", "id", "stream", "task", "values"),
    "Topology": tuple("config read specs thrift_bolts thrift_spouts thrift_topology to_flux_dict write".split()),
    "Grouping": tuple("ALL DIRECT GLOBAL LOCAL_OR_SHUFFLE NONE SHUFFLE custom_object custom_serialized fields".split()),
    "Stream": ("direct", "fields", "name"),
    "ComponentSpec": tuple("common component_cls config inputs name outputs par".split()),
    "sparse": tuple(_COMMANDS.split()),
    "pystorm.log": tuple(_LOG_KEYS.split()),
}


def all_names() -> set[str]:
    """Each as `owner.name`; a command as `sparse name`, a module's own name alone."""
    before = {"streamparse": "", "sparse": "sparse "}
    return {before.get(owner, f"{owner}.") + name for owner, names in NAMES.items() for name in names}
