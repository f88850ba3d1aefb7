"""The HTML report of a comparison: one file that needs no network.

    samples.py   documents and answers, packed so that each text stands once
    page.py      the file: data, style and script together, under a policy that lets nothing else in
    plots.py     the plots as PNG and SVG, with matplotlib
    assets/      the page's skeleton, style, texts in Russian and English, and script

Data and responses are hostile text. They are in the file as JSON that cannot end its element, or packed as base64, and
the script puts them on the page as text alone.
"""
