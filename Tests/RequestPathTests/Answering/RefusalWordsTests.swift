import RequestPath
import Testing
import Vocabulary

/// What people read when they are refused.
@Suite("Words for refusals")
struct RefusalWordsTests {
    private static let statuses = [400, 401, 403, 404, 405, 408, 413, 414, 417, 429, 431, 500, 502, 503, 504, 505]

    @Test("Every reason has a title, a sentence, an advice, and no word of ours in them", arguments: Reason.allCases)
    func everyReason(reason: Reason) {
        for status in Self.statuses {
            for isForm in [false, true] {
                let words = RefusalWords(reason, status: status, isForm: isForm)
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
    }

    @Test("A form is never sent again by a link, and its user is told what became of what they entered")
    func forms() {
        for reason in Reason.allCases {
            for status in Self.statuses {
                let words = RefusalWords(reason, status: status, isForm: true)
                #expect(words.way != .again)
                let isUnknown = [.upstreamTimeout, .upstreamReset, .upstreamMalformed, .upstreamTruncated].contains(
                    reason
                )
                let said = isUnknown ? "not known whether what you entered has arrived" : "was not sent on"
                #expect(words.event.contains(said), "\(words)")
            }
        }
        #expect(RefusalWords(.sessionUnknown, status: 401, isForm: true).event.hasPrefix("Your session has ended."))
    }

    @Test("The way on is the one that can help")
    func ways() {
        func way(_ reason: Reason, _ status: Int) -> RefusalWords.Way {
            RefusalWords(reason, status: status, isForm: false).way
        }
        #expect(way(.credentialMissing, 401) == .signIn && way(.sessionUnknown, 401) == .signIn)
        #expect(way(.requireMaxAge, 403) == .signIn && way(.requireGroups, 403) == .otherAccount)
        #expect(way(.storeUnavailable, 503) == .again && way(.upstreamTimeout, 504) == .again)
        #expect(way(.pathAmbiguous, 400) == .start && way(.routeNotFound, 404) == .start)
        #expect(way(.requestBodyTooLarge, 413) == .none)
    }
}
