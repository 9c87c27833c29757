import Pages
import Vocabulary

/// The page that passes an answer to the window that opened or frames it (OAuth 2.0 Web Message Response Mode,
/// draft-sakimura-oauth-wmrm-00, simple mode). Auth0's SDKs for browsers use this mode.
///
/// Only a page of `origin` receives the answer and may frame this page.
enum WebMessagePage {
    private static let script = """
        const{origin:o,response:r}=document.currentScript.dataset,w=window.opener||window.parent;\
        if(w!==window)w.postMessage({type:"authorization_response",response:JSON.parse(r)},o)
        """

    /// Returns the page as an answer.
    ///
    /// - Parameter origin: The origin of the redirect URI.
    static func response(
        to origin: String,
        _ parameters: [(name: String, value: String)],
        by pages: PageWriter,
        reason: Reason?
    ) -> EndpointResponse {
        let members = Dictionary(parameters.map { ($0.name, JSONValue.string($0.value)) }, uniquingKeysWith: { $1 })
        let answer = String(decoding: JSONText.encode(.object(members)), as: UTF8.self)
        let page = WebPage(
            .page,
            title: pages.language.text(.formPostTitle),
            content: "",
            script: WebPage.Script(self.script, data: [("origin", origin), ("response", answer)])
        )
        return .page(200, page, by: pages, framing: .origin(origin), reason: reason)
    }
}
