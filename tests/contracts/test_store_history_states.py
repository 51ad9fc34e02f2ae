"""Whatever is written, deleted, backed up, restored and moved, in any order, the store holds what a model says."""

import shutil
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from weft import Node, Weft
from weft.interfaces.tenants import delete_tenant, export_tenant, import_tenant
from weft.store.sqlite.backup_archive import add_to_archive, restore_at

TENANTS = st.sampled_from(("one", "two", "three"))
KEYS = st.sampled_from(tuple(f"put:{number}" for number in range(6)))
WORDS = st.sampled_from(("lighthouse", "harbour", "zebra", "ledger", "pump", "gate"))

Texts = dict[tuple[str, str], str]


class StoreHistory(RuleBasedStateMachine):
    """A store and its archive, beside a dictionary that knows what both must hold."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="weft-states-"))
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        self.texts: Texts = {}
        self.backups: list[tuple[int, Texts]] = []
        self.number = 0

    @initialize()
    def open_store(self) -> None:
        self.weft = Weft.open(self.folder / "store", embedder=None)

    @rule(tenant=TENANTS, key=KEYS, word=WORDS)
    def put(self, tenant: str, key: str, word: str) -> None:
        self.number += 1
        text = f"The {word} of turn {self.number}."
        self.weft.put(Node(key, "note", tenant=tenant, title=word, text=text))
        self.texts[tenant, key] = text

    @rule(tenant=TENANTS, key=KEYS)
    def delete(self, tenant: str, key: str) -> None:
        self.weft.delete(key, tenant=tenant)
        self.texts.pop((tenant, key), None)

    @rule()
    def close_and_open(self) -> None:
        self.weft.close()
        self.weft = Weft.open(self.folder / "store", embedder=None)

    @rule()
    def back_up(self) -> None:
        self.now += timedelta(minutes=1)
        made = add_to_archive(self.folder / "store", self.folder / "archive", self.now, max_chain=3)
        self.backups.append((made.sequence, dict(self.texts)))

    @precondition(lambda self: self.backups)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        sequence = data.draw(st.sampled_from([sequence for sequence, _ in self.backups]))
        self.weft.close()
        shutil.rmtree(self.folder / "store")
        restored, _ = restore_at(
            self.folder / "archive", self.folder / "store", sequence=sequence, replace=False, now=self.now
        )
        # The newest of those that hold no later write: after a restore, older writes come again.
        expected = [(held, texts) for held, texts in self.backups if held <= sequence][-1]
        assert restored.sequence == expected[0]
        self.texts = dict(expected[1])
        self.weft = Weft.open(self.folder / "store", embedder=None)

    @rule(tenant=TENANTS)
    def delete_tenant(self, tenant: str) -> None:
        proof = delete_tenant(self.weft, tenant)
        own = [ref for ref in self.texts if ref[0] == tenant]
        assert (proof.nodes, proof.left) == (len(own), 0)
        for ref in own:
            del self.texts[ref]

    @rule(source=TENANTS, other=TENANTS)
    def copy_tenant(self, source: str, other: str) -> None:
        file = self.folder / "export.ndjson"
        file.write_bytes(b"".join(export_tenant(self.weft, source)))
        with file.open("rb") as lines:
            import_tenant(self.weft, lines, other)
        self.texts |= {(other, key): text for (tenant, key), text in self.texts.items() if tenant == source}

    @invariant()
    def holds_what_the_model_says(self) -> None:
        if not hasattr(self, "weft"):
            return
        for tenant in ("one", "two", "three"):
            held = {(tenant, row.node.key): row.node.text for row in self.weft.store.iterate(tenant)}
            assert held == {ref: text for ref, text in self.texts.items() if ref[0] == tenant}

    @invariant()
    def finds_it_and_nothing_of_others(self) -> None:
        if not hasattr(self, "weft") or not self.texts:
            return
        (tenant, key), text = sorted(self.texts.items())[-1]
        found = self.weft.search(text, tenants=tenant, floor=0.0, limit=20).candidates
        assert key in {candidate.node.key for candidate in found}
        assert {candidate.node.tenant for candidate in found} == {tenant}

    def teardown(self) -> None:
        if hasattr(self, "weft"):
            assert self.weft.verify() == ()
            self.weft.close()
        shutil.rmtree(self.folder, ignore_errors=True)


StoreHistory.TestCase.settings = settings(
    max_examples=6,
    stateful_step_count=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
TestStoreHistory = StoreHistory.TestCase
