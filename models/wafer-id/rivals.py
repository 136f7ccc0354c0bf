"""How well readers read the sets of make_wafer_ids.py: tesseract, a matcher of cells, a ViT with one head a position,
and a checkpoint of train.py.

    for SET in clean medium hard unseen unseen-shapes no-mark; do
        python3 models/wafer-id/make_wafer_ids.py DATA --set $SET --count 1000; done
    python3 models/wafer-id/rivals.py DATA [--count N] [--learn N] [--readers R ...] [--sets S ...] [--model DIR] \
        [--vit FILE]

Exact match, character error rate, how many check characters hold and how many of these readings are wrong all the same,
milliseconds of processor time a picture. The matcher learns its templates from the first pictures of the set train at
medium difficulty, and both were tuned on such pictures. Needs numpy and Pillow, and the
programs tesseract and build/attnd-predict (ATTND_PREDICT names another); the reader vit needs PyTorch.
"""
import argparse
import pathlib
import resource
import time

import attnd
import judge
import matcher
import semi_check
import tesseract
from make_wafer_ids import draw


def learn_matcher(count, seed):
    """A matcher with the templates of `count` pictures of the set train, medium."""
    drawn = [draw(seed, "train", i, "medium") for i in range(count)]
    return matcher.Matcher().learn([(picture, fields["target"], fields["shapes"], fields["matrix"])
                                    for picture, fields in drawn])


def spent():
    """Seconds of processor time of this process and of the programs that it ran."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def judge_matcher(reader, data, count, sets):
    """As it reads, and with the likeliest text whose check characters hold."""
    for name in sets:
        rows = judge.load(data, name, count)
        begin = spent()
        scores = [reader.scores(picture) for picture, _ in rows]
        between = spent()
        for title, checked in (("matcher of cells", False), ("matcher of cells, check obeyed", True)):
            start = spent()
            texts = [reader.text_of(score, checked) for score in scores]
            judge.tell(title, name, [(text, target) for text, (_, target) in zip(texts, rows)],
                       between - begin + spent() - start)


def judge_tesseract(data, count, sets):
    for name in sets:
        rows = judge.load(data, name, count)
        begin = spent()
        texts = tesseract.read_all([picture for picture, _ in rows])
        judge.tell("tesseract", name, [(text, target) for text, (_, target) in zip(texts, rows)], spent() - begin)


def judge_vit(path, data, count, sets):
    """As judge_matcher."""
    import vit  # it needs PyTorch, which no other reader does
    reader = vit.Reader(path)
    for name in sets:
        rows = judge.load(data, name, count)
        begin = spent()
        chances = reader.chances([picture for picture, _ in rows])
        between = spent()
        for title, text_of in (("ViT", vit.text_of), ("ViT, check obeyed", vit.checked_text_of)):
            start = spent()
            texts = [text_of(of_picture) for of_picture in chances]
            judge.tell(title, name, [(text, target) for text, (_, target) in zip(texts, rows)],
                       between - begin + spent() - start)


def judge_attnd(model, data, count, sets):
    """The likeliest text; nothing unless its check characters hold; and the likeliest text whose check characters
    hold."""
    for name in sets:
        rows = judge.lines_of(data, name, count)
        paths, targets = [path for path, _ in rows], [target for _, target in rows]
        for title, options in (("attnd", ("--checksum", "none")), ("attnd, check demanded", ("--checksum", "semi-m13"))):
            begin = spent()
            texts = [text for text, _ in attnd.read_all(model, paths, options)]
            judge.tell(title, name, list(zip(texts, targets)), spent() - begin)
            if title == "attnd":
                judge.tell("attnd, else nothing", name, [(text if semi_check.holds(text) else "", target)
                                                         for text, target in zip(texts, targets)], spent() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--count", type=int, help="pictures of each set; all without it")
    parser.add_argument("--learn", type=int, default=800, help="pictures for the matcher's templates")
    parser.add_argument("--readers", nargs="+", choices=("matcher", "tesseract", "vit", "attnd"),
                        default=("matcher", "tesseract"))
    parser.add_argument("--sets", nargs="+", choices=judge.JUDGED, default=judge.JUDGED)
    parser.add_argument("--model", type=pathlib.Path, help="the checkpoint that attnd reads")
    parser.add_argument("--vit", type=pathlib.Path, help="what vit.py has written")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print(judge.HEAD)
    if "matcher" in options.readers:
        judge_matcher(learn_matcher(options.learn, options.seed), options.data, options.count, options.sets)
    if "tesseract" in options.readers:
        judge_tesseract(options.data, options.count, options.sets)
    if "vit" in options.readers:
        judge_vit(options.vit, options.data, options.count, options.sets)
    if "attnd" in options.readers:
        judge_attnd(options.model, options.data, options.count, options.sets)


if __name__ == "__main__":
    main()
