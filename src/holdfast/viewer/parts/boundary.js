// Around each panel: an error in one leaves the frame and the others standing.
import { Component, html } from "../ui.js";

export class Boundary extends Component {
  componentDidCatch(error) {
    console.error(error);
    this.setState({ failed: true });
  }

  render({ children, say }, { failed }) {
    if (!failed) return children;
    return html`<div class="empty failed" role="alert">
      <p>${say("panelFailed")}</p>
      <button type="button" onClick=${() => this.setState({ failed: false })}>${say("reload")}</button>
    </div>`;
  }
}
