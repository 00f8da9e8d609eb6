// Sources in colour, line by line, without markup: Prism's tokens as [class, text] pairs.
/* global Prism */

const LONGEST = 150_000;
const CUDA =
  /\b(?:__(?:global|device|shared|constant|host|restrict|forceinline|launch_bounds|grid_constant|managed)__|(?:thread|block)Idx|(?:block|grid)Dim|warpSize|__syncthreads|__shfl\w*|__ld\w+|__st\w+|half2?|float[1-4]|u?int[1-4]|double[1-4])\b/;

// One list of [class, text] per line; plain text where the language is unknown or it is too long.
export function highlightedLines(source, language) {
  const grammar = grammarOf(language);
  const pieces =
    !grammar || source.length > LONGEST
      ? [["", source]]
      : flat(Prism.tokenize(source, grammar), "");
  const lines = [[]];
  for (const [kind, text] of pieces) {
    const parts = text.split("\n");
    parts.forEach((part, at) => {
      if (at) lines.push([]);
      if (part) lines[lines.length - 1].push([kind, part]);
    });
  }
  return lines;
}

let cuda = null;

// C++ with the words that CUDA adds, looked for in all but comments, strings and directives.
function grammarOf(language) {
  if (language === "python") return Prism.languages.python;
  const { cpp } = Prism.languages;
  cuda ??= {
    comment: cpp.comment,
    char: cpp.char,
    macro: cpp.macro,
    "raw-string": cpp["raw-string"],
    string: cpp.string,
    cuda: CUDA,
    ...cpp,
  };
  return cuda;
}

function flat(tokens, kind) {
  if (typeof tokens === "string") return [[kind, tokens]];
  if (Array.isArray(tokens)) return tokens.flatMap((token) => flat(token, kind));
  return flat(tokens.content, tokens.type);
}
