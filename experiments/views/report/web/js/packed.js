// Values that are needed only when somebody looks: unpacked block by block, each block once.

export class Packed {
  constructor(starts) {
    this.starts = starts;
    this.blocks = new Map();
  }

  async value(number) {
    const block = this.blockOf(number);
    if (!this.blocks.has(block)) this.blocks.set(block, unpack(block));
    return (await this.blocks.get(block))[number - this.starts[block]];
  }

  blockOf(number) {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= number) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

async function unpack(block) {
  const text = document.getElementById(`block-${block}`).textContent;
  const bytes = Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
