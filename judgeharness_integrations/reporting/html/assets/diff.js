// Two texts word by word: what only one of them holds is marked. Beyond so many pairs of words nothing is.
const MOST_PAIRS = 2e6;
const wordsOf = (text) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];

// Which words of each side belong to their longest common subsequence.
function common(first, second) {
  const width = second.length + 1;
  const longest = new Uint32Array((first.length + 1) * width);
  for (let i = first.length - 1; i >= 0; i -= 1) {
    for (let j = second.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = first[i] === second[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  const kept = [new Set(), new Set()];
  for (let i = 0, j = 0; i < first.length && j < second.length;) {
    if (first[i] === second[j]) kept[0].add(i++), kept[1].add(j++);
    else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return kept;
}

function marks(words, kept) {
  const pieces = [];
  for (const [place, word] of words.entries()) {
    const same = kept.has(place);
    if (pieces.length && pieces.at(-1)[0] === same) pieces.at(-1)[1] += word;
    else pieces.push([same, word]);
  }
  return pieces.map(([same, text]) => (same || !text.trim() ? text : el("mark", null, text)));
}

// The nodes of each text; texts that share no word, or are very long, stand as they are.
function diffed(...texts) {
  const words = texts.map(wordsOf);
  if (words[0].length * words[1].length > MOST_PAIRS) return texts.map((text) => [text]);
  const kept = common(...words);
  const shared = [...kept[0]].some((place) => words[0][place].trim());
  return shared ? words.map((side, place) => marks(side, kept[place])) : texts.map((text) => [text]);
}
