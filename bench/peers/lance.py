"""One process that asks LanceDB; it runs in the environment of the peers and answers one question a line.

python lance.py RECORDS FOLDER

It builds the table where there is none, prints "ready", and then answers lines of JSON {"question": …,
"vector": […], "limit": …} with the milliseconds of the retrieval, by the clock and of processor time.
"""

import json
import sys
import time
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa

TABLE = "passages"


def build(records: Path, folder: Path) -> "lancedb.table.Table":
    """Return the table with an index of words; its vectors are those that Weft made of the same texts."""
    database = lancedb.connect(folder)
    if TABLE in database.table_names():
        return database.open_table(TABLE)
    rows = [json.loads(line) for path in sorted(records.glob("*.jsonl")) for line in path.open(encoding="utf-8")]
    vectors = np.load(folder.with_suffix(".npy"))
    columns = {
        "key": [row["key"] for row in rows],
        "text": [f"{row['title']}\n{row['text']}" for row in rows],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
    }
    table = database.create_table(TABLE, pa.table(columns))
    table.create_fts_index("text")
    table.create_index(metric="cosine", vector_column_name="vector")
    table.optimize()
    return table


def main() -> None:
    """Answer questions until the input ends."""
    table = build(Path(sys.argv[1]), Path(sys.argv[2]))
    print("ready", flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        words = "".join(each if each.isalnum() else " " for each in asked["question"])
        worked, started = time.process_time(), time.perf_counter()
        query = table.search(query_type="hybrid").vector(asked["vector"]).text(words).limit(asked["limit"])
        found = query.select(["key", "text"]).to_arrow()
        spent = 1000 * (time.perf_counter() - started), 1000 * (time.process_time() - worked)
        print(json.dumps({"wall": spent[0], "processor": spent[1], "found": found.num_rows}), flush=True)


if __name__ == "__main__":
    main()
