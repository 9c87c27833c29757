/// One of the gateway's pages: the content of its frame (`PageTemplate`). Pages use no external resources, support
/// light and dark schemes, phones and desktops, and work without scripts.
package struct WebPage: Sendable {
    /// The kind of a page. The raw value is the name of its template's file in `pages.templates_dir`.
    package enum Kind: String, CaseIterable, Sendable {
        case login
        case confirm
        case error
        case sessions
        case signOut = "sign-out"
        case signedOut = "signed-out"
        /// Any other page. Its template also applies to kinds without a template of their own.
        case page
    }

    package var kind: Kind
    /// The window title and the first heading, as plain text.
    package var title: String
    /// The content below the heading, as markup. All text in it is already escaped.
    package var content: String
    /// The page's only script. `nil` if it has none.
    package var script: Script?
    /// A script that browsers run because the page's policy contains its digest. Its text never varies. The script
    /// reads variable values from the attributes of its element (`document.currentScript.dataset`).
    package struct Script: Sendable {
        /// The text of the script. It must not contain `</`.
        let text: String
        /// The `data-` attributes: their names without that prefix, and their values before escaping.
        let data: [(name: String, value: String)]

        package init(_ text: String, data: [(name: String, value: String)] = []) {
            self.text = text
            self.data = data
        }

        var html: String {
            let attributes = self.data.map { #" data-\#($0.name)="\#(HTMLText.escaped($0.value))""# }.joined()
            return "<script\(attributes)>\(self.text)</script>"
        }

        /// The SHA-256 digest of the script in padded base64, for the content security policy (CSP3 2.3.1).
        package var digest: String { PageDesign.digest(self.text) }
    }

    package init(_ kind: Kind, title: String, content: String, script: Script? = nil) {
        self.kind = kind
        self.title = title
        self.content = content
        self.script = script
    }
}
