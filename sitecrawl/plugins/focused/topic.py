"""How much a text is about a topic: TF-IDF and the cosine between two texts.

A text is the vector of its words' weights, a word's weight being `(1 + ln n) * idf` where it stands n times (Salton
and Buckley 1988; scikit-learn's `TfidfTransformer`). The topic is the vector of a query, or of example pages, or of
both (Rocchio 1971: the examples' mean). `idf` is learned from the pages that a crawl meets: a sample of them, looked
at again whenever they have doubled. Words are hashed into 2^18 numbers, so the memory does not grow with the words.

The sample and what was learned of it live in memory: a crawl that is resumed learns anew, within some pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scipy.sparse import csr_matrix, vstack
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

from sitecrawl.plugins.focused.shark_search import words

_SAMPLE: Final = 512
"""Pages from which `idf` is learned."""
_FIRST: Final = 8
_FEATURES: Final = 1 << 18


class Topic:
    """The topic of a crawl: a query, example pages, or both. Relevance goes from 0 to 1."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._vectorizer = HashingVectorizer(
            analyzer=words, n_features=_FEATURES, norm=None, alternate_sign=False, dtype=float
        )
        self._weights: TfidfTransformer | None = None
        self._sample: list[Any] = []
        self._met = 0
        self._learn_at = _FIRST
        self._parts = [self._counts([text]) for text in texts]
        self._topic: Any = None

    def relevance(self, texts: Sequence[str]) -> list[float]:
        """Of short texts, such as links."""
        return self._cosines(self._counts(texts)) if texts else []

    def read(self, text: str) -> float:
        """Relevance of a page, which is learned from as well."""
        counts = self._counts([text])
        self._learn(counts)
        return self._cosines(counts)[0]

    def _counts(self, texts: Sequence[str]) -> Any:
        return self._vectorizer.transform(texts)

    def _cosines(self, counts: Any) -> list[float]:
        if self._topic is None:
            mean = self._weighed(vstack(self._parts)).sum(axis=0)
            self._topic = csr_matrix(
                mean / max(float((mean.A1**2 if hasattr(mean, "A1") else mean**2).sum()) ** 0.5, 1e-12)
            )
        cosines = (self._weighed(counts) @ self._topic.T).toarray().ravel()
        return [float(cosine) for cosine in cosines]

    def _weighed(self, counts: Any) -> Any:
        if self._weights is None:
            self._weights = TfidfTransformer(sublinear_tf=True).fit(vstack([*self._parts, counts]))
        return self._weights.transform(counts)

    def _learn(self, counts: Any) -> None:
        """Every page at first, then every so-many-th: the sample stays spread over the crawl."""
        self._met += 1
        if len(self._sample) < _SAMPLE:
            self._sample.append(counts)
        elif self._met % (self._met // _SAMPLE) == 0:
            self._sample[self._met // (self._met // _SAMPLE) % _SAMPLE] = counts
        if self._met >= self._learn_at:
            self._learn_at *= 2
            self._weights = TfidfTransformer(sublinear_tf=True).fit(vstack(self._sample))
            self._topic = None
