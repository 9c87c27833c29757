package import Pages
package import Vocabulary

/// The sites that may show an answer in a frame.
package enum Framing: Sendable {
    case nobody
    /// Pages of the answer's own origin. The frame of an app can then show a refusal.
    case ownOrigin
    /// Pages of this origin.
    case origin(String)
}

extension EndpointResponse {
    /// Returns one of the gateway's pages.
    package static func page(
        _ status: Int,
        _ page: WebPage,
        by writer: PageWriter,
        framing: Framing = .nobody,
        fields: [(name: String, value: String)] = [],
        reason: Reason? = nil
    ) -> EndpointResponse {
        .html(
            status,
            writer.html(page),
            styleDigest: writer.styleDigest,
            scriptDigest: page.script?.digest,
            hasImages: true,
            framing: framing,
            fields: [("content-language", writer.language.tag)] + fields,
            reason: reason
        )
    }
}

extension EndpointRequest {
    /// The writer of pages for the browser that sent this request.
    package var pages: PageWriter { self.design.writer(accepting: self.field("accept-language")).on(self.authority) }

    /// The absolute URL of the sign-in page.
    var signInURL: String { SignInPath.url(on: self.origin, by: self.design) }
}
