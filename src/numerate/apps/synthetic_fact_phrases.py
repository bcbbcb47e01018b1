"""Vocabulary of `synthetic_facts`: things with their usual sizes, units, and sentence templates. All invented."""

from __future__ import annotations

__all__ = ["GROUPS", "PHRASES", "PLACES", "SIZES", "SPREADS", "UNITS"]

GROUPS: dict[str, tuple[tuple[str, ...], dict[str, tuple[float, ...]]]] = {
    "animal": (("mass", "length", "speed", "age"), {
        "hummingbird": (0.004, 0.08, 45, 4), "shrew": (0.008, 0.07, 8, 1.5), "mouse": (0.02, 0.09, 12, 2),
        "sparrow": (0.03, 0.15, 38, 3), "frog": (0.05, 0.09, 9, 8), "hamster": (0.12, 0.13, 6, 2.5),
        "squirrel": (0.5, 0.24, 20, 7), "pigeon": (0.35, 0.32, 80, 6), "hedgehog": (0.8, 0.23, 5, 5),
        "rabbit": (2, 0.4, 45, 9), "cat": (4.2, 0.46, 42, 15), "eagle": (5, 0.85, 130, 25), "fox": (6.5, 0.7, 48, 5),
        "otter": (9, 0.9, 12, 12), "beaver": (22, 0.95, 8, 13), "dog": (25, 0.8, 40, 12), "wolf": (42, 1.3, 60, 8),
        "goat": (55, 1.2, 15, 16), "deer": (95, 1.8, 65, 12), "lion": (180, 2, 70, 13), "bear": (260, 2.1, 50, 26),
        "horse": (520, 2.4, 62, 27), "cow": (650, 2.5, 30, 18), "crocodile": (430, 4.2, 17, 60),
        "giraffe": (1100, 4.8, 55, 24), "rhino": (2100, 3.7, 50, 42), "elephant": (4900, 6.2, 35, 62),
        "orca": (5200, 7.1, 50, 50), "whale": (88000, 24, 30, 80),
    }),
    "vehicle": (("mass", "length", "speed", "price"), {
        "skateboard": (2.6, 0.8, 18, 75), "scooter": (12, 1.1, 22, 420), "bicycle": (13, 1.7, 24, 650),
        "moped": (95, 1.8, 45, 2300), "motorcycle": (210, 2.1, 180, 11000), "canoe": (28, 4.9, 6, 900),
        "rowing boat": (70, 4.2, 8, 1900), "car": (1450, 4.3, 160, 27000), "taxi": (1600, 4.6, 120, 33000),
        "van": (2100, 5.4, 130, 41000), "tractor": (5200, 4.4, 38, 88000), "bus": (12500, 12, 85, 290000),
        "truck": (17000, 14, 88, 140000), "tram": (38000, 31, 60, 3.2e6), "locomotive": (86000, 19, 150, 4.1e6),
        "airliner": (62000, 40, 850, 9.5e7), "glider": (310, 7.2, 140, 82000), "helicopter": (2300, 11, 230, 1.9e6),
        "yacht": (16000, 17, 19, 1.1e6), "ferry": (2.9e6, 92, 33, 4.4e7), "tanker": (2.1e8, 320, 27, 1.2e8),
    }),
    "building": (("height", "cost", "floor"), {
        "doghouse": (0.9, 120, 1.1), "shed": (2.4, 1900, 9), "garage": (3.1, 21000, 32), "cabin": (4.6, 64000, 48),
        "house": (8.2, 390000, 140), "barn": (9.5, 88000, 310), "chapel": (14, 720000, 150), "school": (13, 9e6, 4200),
        "church": (31, 5.5e6, 900), "lighthouse": (36, 2.4e6, 110), "stadium": (44, 2.6e8, 52000),
        "cathedral": (92, 1.5e8, 6100), "tower": (165, 3.1e8, 34000), "skyscraper": (290, 9e8, 120000),
    }),
    "good": (("mass", "price"), {
        "pencil": (0.006, 0.8), "coin": (0.007, 2), "ring": (0.009, 480), "key": (0.015, 6), "letter": (0.022, 1.1),
        "watch": (0.07, 260), "phone": (0.18, 620), "wallet": (0.11, 38), "book": (0.42, 17), "shirt": (0.19, 27),
        "lamp": (1.6, 46), "coat": (1.3, 120), "laptop": (1.7, 980), "guitar": (2.1, 410), "suitcase": (3.4, 105),
        "chair": (5.8, 84), "drill": (1.9, 92), "mirror": (7.5, 66), "desk": (31, 270), "sofa": (54, 890),
        "oven": (37, 560), "piano": (240, 6200), "statue": (1900, 36000), "safe": (310, 1500),
    }),
    "food": (("mass", "price", "energy"), {
        "grape": (0.005, 0.05, 4), "cherry": (0.008, 0.12, 5), "walnut": (0.011, 0.2, 33), "egg": (0.058, 0.35, 78),
        "apple": (0.17, 0.6, 88), "bun": (0.075, 0.9, 210), "sandwich": (0.21, 4.6, 390), "pizza": (0.46, 11, 1050),
        "loaf": (0.62, 3.3, 1500), "cabbage": (1.1, 2.2, 270), "chicken": (1.5, 8.5, 2300), "melon": (3.2, 4.1, 980),
        "goose": (4.4, 52, 9800), "cake": (1.3, 24, 4300),
    }),
    "place": (("people", "area", "warmth"), {
        "farm": (7, 0.8, 21), "hamlet": (85, 2.6, 17), "village": (900, 11, 18), "island": (2600, 38, 24),
        "market town": (9500, 27, 19), "harbour town": (31000, 44, 22), "city": (280000, 130, 23),
        "capital": (2.3e6, 620, 25), "province": (4.6e6, 24000, 26), "country": (3.1e7, 310000, 28),
    }),
    "vessel": (("volume", "price"), {
        "thimble": (0.002, 3), "spoon": (0.012, 2.5), "cup": (0.24, 7), "bottle": (0.8, 4), "jug": (1.7, 19),
        "kettle": (1.9, 38), "bucket": (11, 9), "barrel": (160, 95), "bathtub": (190, 740), "hot tub": (1300, 5200),
        "tank": (8200, 4100), "pool": (310000, 48000),
    }),
    "race": (("track", "time", "crowd"), {
        "sprint": (100, 10.9, 4200), "hurdle race": (400, 52, 3100), "lap": (400, 49, 800),
        "mile run": (1609, 245, 1500), "fun run": (5000, 1650, 600), "road race": (10000, 2050, 5500),
        "half marathon": (21097, 4500, 12000),
        "marathon": (42195, 9100, 42000), "rowing race": (2000, 380, 2600), "bicycle race": (160000, 14000, 90000),
        "rally": (1.1e6, 39000, 31000),
    }),
    "heat": (("warmth",), {
        "freezer": (-18,), "glacier": (-7,), "cellar": (12,), "lake": (19,), "bath": (38,),
        "soup": (68,), "tea": (74,), "sauna": (86,), "oven": (210,),
        "grill": (260,), "pizza oven": (380,), "kiln": (1080,), "forge": (1290,), "furnace": (1530,),
    }),
}  # fmt: skip
"""Groups of things: their attributes, and each thing's usual values, in the first unit of each attribute."""

SPREADS = {
    "mass": 0.18, "length": 0.13, "speed": 0.16, "age": 0.2, "price": 0.25, "height": 0.2, "cost": 0.3, "floor": 0.25,
    "energy": 0.12, "people": 0.35, "area": 0.3, "warmth": 0.08, "volume": 0.15, "track": 0.01, "time": 0.07,
    "crowd": 0.4,
}  # fmt: skip
"""Attributes and how far their values spread, as a natural logarithm."""

UNITS: dict[str, dict[str, float]] = {
    "mass": {"kg": 1, "g": 1e-3, "tonnes": 1e3, "lbs": 0.45359237, "oz": 0.028349523},
    "length": {"m": 1, "cm": 0.01, "mm": 1e-3, "km": 1e3, "ft": 0.3048, "inches": 0.0254, "miles": 1609.344},
    "speed": {"km/h": 1, "mph": 1.609344},
    "age": {"years": 1, "months": 1 / 12, "weeks": 7 / 365.25},
    "price": {"dollars": 1, "euros": 1.1, "cents": 0.01},
    "energy": {"kcal": 1, "kJ": 0.239005736},
    "people": {"people": 1},
    "area": {"km²": 1, "hectares": 0.01, "acres": 0.0040468564},
    "floor": {"m²": 1, "ft²": 0.09290304},
    "warmth": {"°C": 1, "°F": 1},
    "volume": {"litres": 1, "ml": 1e-3, "gallons": 3.785411784},
    "time": {"seconds": 1, "minutes": 60, "hours": 3600},
}
"""Units and what one of them is in the first."""
UNITS |= {"height": UNITS["length"], "track": UNITS["length"], "cost": UNITS["price"], "crowd": UNITS["people"]}

PHRASES: dict[str, tuple[str, ...]] = {
    "mass": ("{The} {thing}{place} weighs {x}.", "They weighed {a} {thing}: {x}.", "We carried {a} {thing} of {x}."),
    "length": ("{The} {thing}{place} is {x} long.", "We measured {a} {thing}: {x}."),
    "height": ("{The} {thing}{place} rises to {x}.", "{a} {thing}{place} stands {x} tall."),
    "speed": ("{a} {thing} passed at {x}.", "{The} {thing}{place} goes {x}."),
    "age": ("{The} {thing}{place} lived for {x}.", "{a} {thing} may reach {x}."),
    "price": ("{The} {thing}{place} costs {x}.", "They sold {a} {thing} for {x}.", "We paid {x} for {a} {thing}."),
    "cost": ("{The} {thing}{place} was built for {x}.", "Building {a} {thing} took {x}."),
    "floor": ("{The} {thing}{place} has {x} of floor.", "Inside, {the} {thing} covers {x}."),
    "energy": ("{a} {thing} has {x}.", "Eating {the} {thing} gave us {x}."),
    "people": ("{The} {thing}{place} has {x}.", "{a} {thing} of {x}."),
    "area": ("{The} {thing}{place} covers {x}.", "We walked over {a} {thing} of {x}."),
    "warmth": ("{The} {thing}{place} reached {x}.", "We felt {x} at {the} {thing}."),
    "volume": ("{The} {thing}{place} holds {x}.", "We poured {x} into {the} {thing}."),
    "track": ("{The} {thing}{place} goes over {x}.", "After {x}, {the} {thing} was over."),
    "time": ("{The} {thing}{place} was won in {x}.", "It took her {x} to finish {the} {thing}."),
    "crowd": ("{x} watched {the} {thing}.", "{The} {thing}{place} drew {x}."),
}
"""Sentences by attribute: {x} is the value with its unit, {place} is empty for the most part."""

SIZES = {"tiny": 0.3, "small": 0.6, "ordinary": 1.0, "big": 1.6, "huge": 3.2}
"""What a word for the size does to mass, price, cost, floor and volume."""

PLACES = (
    "by the river", "on the hill", "in the old town", "near the station", "behind the market", "at the lake",
    "across the street", "under the trees", "outside the walls", "in the north", "beyond the bridge", "at the fair",
)  # fmt: skip
