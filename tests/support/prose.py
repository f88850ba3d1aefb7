"""Random Russian prose that contains no answer: sentences of real words with various punctuation and line ends."""

import random

NOUNS = """
дом снег река дорога ветер окно вечер утро поезд письмо сосед старик хозяйка деревня лес поле мост ярмарка телега
город улица фонарь трамвай двор калитка сад яблоня печь кот собака лошадь корова туман гроза берег лодка рыбак сеть
""".split()
ADJECTIVES = """
старый тихий белый дальний тёплый холодный весёлый грустный широкий узкий пустой шумный вечерний утренний деревянный
каменный зелёный жёлтый поздний ранний
""".split()
VERBS = """
стоял шумел молчал светился скрипел качался темнел гудел приближался ждал вспоминал смеялся дремал остывал замерзал
возвращался исчезал появлялся пел плыл
""".split()
ADVERBS = "тихо медленно вдруг снова опять давно иногда почти совсем едва потом сначала вдали рядом".split()
OPENINGS = [*"АВЕИОУСК", "Но", "А вот", "А потом", "И вот", "Да", "Нет", "Как будто", "Если", "Когда"]
LINKS = [", и ", ", а ", ", но ", ", когда ", ", пока ", ", будто ", " и ", " — ", ": ", "; ", ", который "]
ENDS = [".", ".", ".", ".", "!", "?", "…", "...", "?!"]


def clause(rng: random.Random) -> str:
    """Return a subject, perhaps with a description, and an action."""
    words = [rng.choice(ADJECTIVES), rng.choice(NOUNS), rng.choice(VERBS)]
    for place in (0, 2, 3):
        if rng.random() < 0.3:
            words.insert(place, rng.choice(ADVERBS))
    return " ".join(words)


def sentence(rng: random.Random) -> str:
    """Return one to three clauses, perhaps after an introductory word, in quotation marks or as direct speech."""
    text = clause(rng)
    if rng.random() < 0.4:
        text = f"{rng.choice(OPENINGS)} {text}"
    for _ in range(rng.randrange(3)):
        text += rng.choice(LINKS) + clause(rng)
    text = text[0].upper() + text[1:] + rng.choice(ENDS)
    return rng.choice((text, text, text, f"— {text}", f"«{text[:-1]}»."))


def prose(rng: random.Random) -> str:
    """Return one to six sentences on one line, on several lines, or in paragraphs."""
    between = rng.choice((" ", " ", "\n", "\n\n"))
    text = between.join(sentence(rng) for _ in range(rng.randint(1, 6)))
    if rng.random() < 0.2:  # a line end as in wrapped text
        words = text.split(" ")
        at = rng.randrange(1, len(words))
        text = " ".join(words[:at]) + "\n" + " ".join(words[at:])
    return text
