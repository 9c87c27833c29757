/// One of the gateway's pages. Pages work without scripts and external resources, in light and dark schemes, and on
/// phones.
package struct WebPage: Sendable {
    /// The kinds of pages. The raw value is the file name of a template in `pages.templates_dir`.
    package enum Kind: String, CaseIterable, Sendable {
        case login
        case confirm
        case error
        case sessions
        case signOut = "sign-out"
        case signedOut = "signed-out"
        /// Any other page. Its template also applies to kinds without a template.
        case page
    }

    package var kind: Kind
    /// The title as plain text, for the window and the first heading.
    package var title: String
    /// The content below the heading, as HTML. Texts in it must be escaped.
    package var content: String
    /// The page's only script; `nil` for none.
    package var script: Script?
    /// A script that the page's policy allows by its digest. The text must be constant, so variable values are `data-`
    /// attributes (`document.currentScript.dataset`).
    package struct Script: Sendable {
        /// The text. It must not contain `</`.
        let text: String
        /// The `data-` attributes: names without `data-`, and unescaped values.
        let data: [(name: String, value: String)]

        package init(_ text: String, data: [(name: String, value: String)] = []) {
            self.text = text
            self.data = data
        }

        var html: String {
            let attributes = self.data.map { #" data-\#($0.name)="\#(HTMLText.escaped($0.value))""# }.joined()
            return "<script\(attributes)>\(self.text)</script>"
        }

        /// The digest for the content security policy.
        package var digest: String { PageDesign.digest(self.text) }
    }

    package init(_ kind: Kind, title: String, content: String, script: Script? = nil) {
        self.kind = kind
        self.title = title
        self.content = content
        self.script = script
    }
}
