import Endpoints
import Pages
import RequestPath
import Testing
import Vocabulary

/// The text that people read when a request is refused.
@Suite("Words for refusals")
struct RefusalWordsTests {
    private static let answered = Reason.allCases.filter { $0.refusal != nil }
    private static let english = PageLanguage.included[0]

    @Test("Every reason has a title, a sentence and an advice, without technical terms", arguments: Self.answered)
    func everyReason(reason: Reason) {
        for isForm in [false, true] {
            let refusal = RefusalWords(reason, isForm: isForm)
            let words = (
                title: refusal.title(in: Self.english), event: refusal.event(in: Self.english),
                advice: refusal.advice(in: Self.english)
            )
            #expect(words.title.count > 5 && !words.title.hasSuffix("."), "\(words)")
            #expect(
                words.event.hasSuffix(".") && words.event.filter { $0 == "." }.count == (isForm ? 2 : 1),
                "\(words)"
            )
            #expect(words.advice.hasSuffix("."), "\(words)")
            let text = "\(words.title) \(words.event) \(words.advice)".lowercased()
            for word in ["token", "gateway", "credential", "upstream", "store", "http", "cookie is", "<", "&"] {
                #expect(!text.contains(word), "\(word): \(words)")
            }
            #expect(!text.contains(reason.rawValue))
        }
    }

    @Test("The page after a refused form offers no repetition and says whether the data arrived")
    func forms() {
        for reason in Self.answered {
            let words = RefusalWords(reason, isForm: true)
            #expect(words.way != .again)
            let isUnknown = [.upstreamTimeout, .upstreamReset, .upstreamMalformed].contains(reason)
            let said = isUnknown ? "not known whether what you entered has arrived" : "was not sent on"
            #expect(words.event(in: Self.english).contains(said), "\(words)")
        }
        #expect(
            RefusalWords(.sessionUnknown, isForm: true).event(in: Self.english).hasPrefix("Your session has ended.")
        )
    }

    @Test("The offered link is one that can help")
    func ways() {
        func way(_ reason: Reason) -> RefusalWords.Way { RefusalWords(reason, isForm: false).way }
        #expect(way(.credentialMissing) == .signIn && way(.sessionUnknown) == .signIn)
        #expect(way(.requireMaxAge) == .signIn && way(.requireGroups) == .otherAccount)
        // No other account opens to a browser what is for apps.
        #expect(way(.requireScopes) == .start && way(.requireOrigin) == .start)
        #expect(way(.storeUnavailable) == .again && way(.upstreamTimeout) == .again)
        #expect(way(.pathAmbiguous) == .start && way(.routeNotFound) == .start)
        #expect(way(.requestBodyTooLarge) == .none && way(.sessionLimit) == .sessions)
    }

    @Test("A host that is not served says so, and leads nowhere")
    func unknownHost() {
        let words = RefusalWords(.routeUnknownHost, isForm: false)
        #expect(words.topic == .unknownHost && words.way == .none)
    }

    @Test("The page names the account that was refused, escaped")
    func account() {
        for account in [nil, "ada<b>@example.com"] {
            var response = EndpointResponse.problem(.requireGroups, requestID: nil)
            response.account = account
            let page = LocalAnswer(response).page(
                by: PageDesign.included.writer(0).on("app.example.com"),
                requestID: RequestID(seed: 1, sequence: 1),
                isForm: false,
                hasHost: true,
                hasSignIn: true
            )
            let text = String(decoding: page.response.body, as: UTF8.self)
            let sentence = #"You are signed in as <strong dir="auto">ada&lt;b&gt;@example.com</strong>."#
            #expect(text.contains(sentence) == (account != nil))
            #expect(text.contains(" - app.example.com</title>"))
        }
    }

    @Test("The page of a sign-in of a client that has ended links to where the client begins a new one, if it says so")
    func client() {
        for uri in [nil, "https://app.example.com/login?iss=x"] {
            var response = EndpointResponse.problem(.oauthRequestUnknown, requestID: nil)
            response.signIn = uri
            let page = LocalAnswer(response).page(
                by: PageDesign.included.writer(0),
                requestID: RequestID(seed: 1, sequence: 1),
                isForm: false,
                hasHost: true,
                hasSignIn: true
            )
            let text = String(decoding: page.response.body, as: UTF8.self)
            #expect(text.contains("href=\"https://app.example.com/login?iss=x\"") == (uri != nil))
            #expect(!text.contains("/.sallyport/login"))
        }
    }
}
