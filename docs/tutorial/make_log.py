"""Writes log.csv: four minutes of a made-up service, by this law and no measurement.

Chats (four of five) have lognormal prompts and answers of median 400 and 220 tokens; documents (one of five) prompts
of median 3,000 and answers of 150. They arrive at random, and twice as often in the middle of them.
"""

import csv
import math
import random
from pathlib import Path

draw = random.Random(20251125)
at_ms = 1_732_500_000_000.0  # as logs have it: since 1970
rows = []
for number in range(900):
    busy = 2.0 if 300 <= number < 700 else 1.0
    at_ms += draw.expovariate(3.0 * busy) * 1000
    document = draw.random() < 0.2
    prompt = draw.lognormvariate(math.log(3000 if document else 400), 0.6)
    answer = draw.lognormvariate(math.log(150 if document else 220), 0.7)
    rows.append([f"{at_ms:.0f}", "eu-west", min(16000, max(8, round(prompt))), min(2000, max(2, round(answer)))])
with open(Path(__file__).with_name("log.csv"), "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["received at", "region", "Prompt Tokens", "Completion Tokens"])
    writer.writerows(rows)
