"""Many clients at once: no error, and no write is lost."""

import threading

import kanerva
from web_cases import command, drawings


def visit(
    url: str, number: int, num_rounds: int, counts: dict[int, int], errors: list[str]
) -> None:
    """One client: in each round write, read, write, forget one, and ask for the state."""
    client = kanerva.Client(url, timeout=60)
    image = drawings(1, first=number % 50)
    try:
        client.create("mine", stored=False)
        done, kept = 1, 0
        for _ in range(num_rounds):
            first = client.write("mine", image).ids
            client.read("mine", image)
            client.write("mine", image)
            client.forget("mine", first)
            client.info("mine")
            done, kept = done + 5, kept + 1
        assert client.info("mine").num_items == kept
        assert len(client.images("mine")) == kept
        counts[number] = done + 2
    except Exception as error:  # every one counts
        errors.append(f"client {number}: {error!r}")


def run_load(url: str, *, num_clients: int, num_rounds: int) -> tuple[int, list[str]]:
    """How many requests were answered, and what went wrong."""
    counts: dict[int, int] = {}
    errors: list[str] = []
    drawings(1)  # lists the letterforms once, not once in each thread
    threads = [
        threading.Thread(target=visit, args=(url, number, num_rounds, counts, errors))
        for number in range(num_clients)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts.values()), errors


def test_fifty_clients_lose_no_write():
    with command("serve", "--port", "0", "--json") as (_, url):
        answered, errors = run_load(url, num_clients=50, num_rounds=2)
    assert errors == []
    assert answered == 50 * 13


def test_writers_of_one_memory_lose_no_write(tmp_path):
    """Fifty clients share one stored memory."""
    with command("serve", "--port", "0", "--json", "--store", tmp_path) as (_, url):
        kanerva.Client(url).create("shared")
        errors: list[str] = []

        def write(number: int) -> None:
            client = kanerva.Client(url, timeout=60)
            try:
                for turn in range(3):
                    client.write("shared", drawings(1, first=number), ids=[f"{number}-{turn}"])
            except Exception as error:
                errors.append(repr(error))

        threads = [threading.Thread(target=write, args=(number,)) for number in range(50)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert errors == []
        assert kanerva.Client(url).info("shared").num_items == 150
    with kanerva.open(tmp_path) as store:
        assert store.info("shared", verify=True).distance == 0
