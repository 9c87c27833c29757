/// One of the gateway's pages: what its frame (`PageTemplate`) holds. No external resources, light and dark, for phones and
/// desktops; usable where no script runs.
package struct WebPage: Sendable {
    /// Which page it is, by the name of its template's file in `pages.templates_dir`.
    package enum Kind: String, CaseIterable, Sendable {
        case login
        case confirm
        case error
        case sessions
        case signOut = "sign-out"
        case signedOut = "signed-out"
        /// Any other, and those of the kinds above that have no template of their own.
        case page
    }

    package var kind: Kind
    /// The text of the window title and the first heading; plain text.
    package var title: String
    /// The content below the heading: markup in which all text is already escaped.
    package var content: String
    /// The page's one script; nil: it has none.
    package var script: Script?
    /// A script that browsers run because the page's policy names its digest: always the same text, which reads what
    /// differs from the attributes of its own element (`document.currentScript.dataset`).
    package struct Script: Sendable {
        /// The script, which contains no `</`.
        let text: String
        /// The attributes: the rest of each name after `data-`, and its value, not escaped yet.
        let data: [(name: String, value: String)]

        package init(_ text: String, data: [(name: String, value: String)] = []) {
            self.text = text
            self.data = data
        }

        var html: String {
            let attributes = self.data.map { #" data-\#($0.name)="\#(HTMLText.escaped($0.value))""# }.joined()
            return "<script\(attributes)>\(self.text)</script>"
        }

        /// SHA-256 in the padded base64 of CSP (CSP3 2.3.1).
        package var digest: String { PageDesign.digest(self.text) }
    }

    package init(_ kind: Kind, title: String, content: String, script: Script? = nil) {
        self.kind = kind
        self.title = title
        self.content = content
        self.script = script
    }
}
