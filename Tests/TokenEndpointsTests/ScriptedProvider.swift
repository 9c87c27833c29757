import Providers
import Synchronization
import Vocabulary

/// A provider that answers about tokens as a test says.
final class ScriptedProvider: TokenProvider {
    let name = "https://id.example.com"
    private let verdict: Mutex<TokenVerdict>
    private let questions = Mutex<[String]>([])

    init(_ verdict: TokenVerdict) { self.verdict = Mutex(verdict) }

    /// The tokens that it was asked about.
    var asked: [String] { self.questions.withLock { $0 } }

    func say(_ verdict: TokenVerdict) { self.verdict.withLock { $0 = verdict } }

    func mayKnow(_ token: UnsafeRawBufferPointer) -> Bool { token.count >= 8 }

    func introspect(_ presented: PresentedToken) async -> TokenVerdict {
        self.questions.withLock { $0.append(String(decoding: presented.token.bytes, as: UTF8.self)) }
        return self.verdict.withLock { $0 }
    }
}
