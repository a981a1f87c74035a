// The document as HTML, with what is in open shadow roots in its place; null where there are none.
() => {
  if (![...document.querySelectorAll('*')].some((element) => element.shadowRoot)) return null;
  const inert = document.implementation.createHTMLDocument(''); // in which no element has a life of its own
  const copied = (node) => {
    const copy = inert.importNode(node, node.localName === 'template');
    if (node.shadowRoot) {
      const root = inert.createElement('div');
      root.setAttribute('data-shadow-root', '');
      for (const child of node.shadowRoot.childNodes) root.append(copied(child));
      copy.append(root);
    }
    for (const child of node.childNodes) copy.append(copied(child));
    return copy;
  };
  return '<!DOCTYPE html>' + copied(document.documentElement).outerHTML;
}
