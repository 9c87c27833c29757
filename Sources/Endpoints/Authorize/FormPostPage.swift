import Pages
import Vocabulary

/// The page that posts an answer to the client (OAuth 2.0 Form Post Response Mode 1.0), by script or with a button.
enum FormPostPage {
    private static let script = WebPage.Script("document.forms[0].submit()")

    static func response(
        to target: String,
        _ parameters: [(name: String, value: String)],
        by pages: PageWriter,
        reason: Reason?
    ) -> EndpointResponse {
        let inputs = parameters.map { name, value in
            #"<input type="hidden" name="\#(name)" value="\#(HTMLText.escaped(value))">"#
        }
        let page = WebPage(
            .page,
            title: pages.language.text(.formPostTitle),
            content: """
                <form method="post" action="\(HTMLText.escaped(target))">
                \(inputs.joined(separator: "\n"))
                <button type="submit">\(pages.language.html(.formPostSubmit))</button>
                </form>
                """,
            script: self.script
        )
        return .page(200, page, by: pages, reason: reason)
    }
}
