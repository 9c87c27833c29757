package import Vocabulary

/// The path of the sign-in page, on every host.
package enum SignInPath {
    /// The path of the page and of its form.
    package static let path = "/.sallyport/login"
    /// The query parameter with the path to go to after sign-in.
    package static let returnTo = "return_to"

    /// The path of the sign-in page that leads back to `target`, a path and query of the same host.
    package static func leading(to target: some Sequence<UInt8>, demanding demand: SignInDemand) -> String {
        var text = Array("\(self.path)?\(self.returnTo)=".utf8)
        self.append(target, to: &text)
        for (name, value) in demand.parameters {
            text += "&\(name)=".utf8
            self.append(value.utf8, to: &text)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends a value fully percent-encoded, so that no part of it becomes a parameter of the sign-in page.
    private static func append(_ value: some Sequence<UInt8>, to text: inout [UInt8]) {
        for byte in value {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "/"):
                text.append(byte)
            default:
                Hexadecimal.appendEscape(of: byte, to: &text)
            }
        }
    }

    /// The absolute URL of the sign-in page, to which a script adds its own `return_to`.
    ///
    /// - Parameter origin: The configured origin of the host.
    package static func url(on origin: String) -> String { origin + self.path }
}

/// What the next sign-in must reach, as the query of the sign-in page says it. A query that someone has changed only
/// makes the user's own sign-in harder: the route checks the session in any case.
package struct SignInDemand: Sendable, Hashable {
    private static let prompt = (name: "prompt", value: "login")
    private static let aal = "aal"
    private static let maxAge = "max_age"
    private static let loginHint = "login_hint"
    /// The longest hint in bytes; a longer one is left out.
    private static let longestHint = 320

    /// Whether a user who is already signed in must authenticate again (`prompt=login`, OpenID Connect Core 3.1.2.1).
    package var isAgain: Bool
    /// The lowest level; nil: any.
    package var aal: AssuranceLevel?
    /// The longest time since the user authenticated, in whole seconds; nil: any.
    package var maxAge: Duration?
    /// What the user types at the provider, as far as a client knows it (OpenID Connect Core 3.1.2.1). It demands nothing.
    package var loginHint: String?

    package init(
        isAgain: Bool = false,
        aal: AssuranceLevel? = nil,
        maxAge: Duration? = nil,
        loginHint: String? = nil
    ) {
        self.isAgain = isAgain
        self.aal = aal
        self.maxAge = maxAge
        self.loginHint = loginHint.flatMap { (1...Self.longestHint).contains($0.utf8.count) ? $0 : nil }
    }

    /// The demand in a query. A parameter that is repeated or has another form demands nothing.
    package init(_ query: [(name: String, value: String)]) {
        func only(_ name: String) -> String? {
            let values = query.filter { $0.name == name }.map(\.value)
            return values.count == 1 ? values[0] : nil
        }
        let maxAge: Duration? = only(Self.maxAge).flatMap { text in
            guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return nil
            }
            return Int64(text).map { .seconds($0) }
        }
        self.init(
            isAgain: only(Self.prompt.name) == Self.prompt.value,
            aal: only(Self.aal).flatMap { text in AssuranceLevel.demandable.first { $0.rawValue == text } },
            maxAge: maxAge,
            loginHint: only(Self.loginHint)
        )
    }

    /// The query parameters that say it.
    var parameters: [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        if self.isAgain { parameters.append(Self.prompt) }
        if let aal = self.aal { parameters.append((Self.aal, aal.rawValue)) }
        if let maxAge = self.maxAge { parameters.append((Self.maxAge, String(maxAge.components.seconds))) }
        if let hint = self.loginHint { parameters.append((Self.loginHint, hint)) }
        return parameters
    }
}
