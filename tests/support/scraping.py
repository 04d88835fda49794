"""What a process tells Prometheus, asked by hand."""

from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

Sample = tuple[str, dict[str, str], float]


def scraped(port: int) -> list[Sample]:
    with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text = answer.read().decode()
    return [
        (sample.name, sample.labels, sample.value)
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]


def total(samples: list[Sample], name: str) -> float:
    return sum(number for found, _, number in samples if found == name)
