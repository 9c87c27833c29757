package import Pages
package import Vocabulary

/// The sign-in page, on every host.
package enum SignInPath {
    /// The path of the sign-in page and of its form.
    package static let path = "/.sallyport/login"
    /// The query parameter with the path that the user returns to after sign-in.
    package static let returnTo = "return_to"

    /// Returns the path and query of the sign-in page. After sign-in, the user returns to `target`, a path and query.
    package static func leading(to target: some Sequence<UInt8>, demanding demand: SignInDemand) -> String {
        var text = Array("\(self.path)?\(self.returnTo)=".utf8)
        self.append(target, to: &text)
        for (name, value) in demand.parameters {
            text += "&\(name)=".utf8
            self.append(value.utf8, to: &text)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends a value, percent-encoded except for letters, digits and `-._/`. The value cannot add parameters.
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

    /// Returns the absolute URL of the sign-in page. A script adds its own `return_to`.
    ///
    /// - Parameters:
    ///   - origin: The configured origin of the host.
    ///   - design: The design, which adds the path prefix of the gateway's pages.
    package static func url(on origin: String, by design: PageDesign) -> String { origin + design.path(self.path) }
}

extension SignInDemand {
    /// The names of the query parameters.
    private enum Name {
        static let prompt = "prompt"
        static let aal = "aal"
        static let maxAge = "max_age"
        static let loginHint = "login_hint"
        static let provider = "provider"
    }

    /// The maximum number of providers in a query.
    private static let maxProviders = 32

    /// The value of `prompt` that demands a new sign-in.
    private static let login = "login"

    /// Reads the demand from the query of the sign-in page. A malformed parameter is ignored, and so is a repeated one
    /// except `provider`. Users may change the query, because the route checks the session in any case.
    package init(_ query: [(name: String, value: String)]) {
        func only(_ name: String) -> String? {
            let values = query.filter { $0.name == name }.map(\.value)
            return values.count == 1 ? values[0] : nil
        }
        let maxAge: Duration? = only(Name.maxAge).flatMap { text in
            guard (1...9).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
                return nil
            }
            return Int64(text).map { .seconds($0) }
        }
        self.init(
            isAgain: only(Name.prompt) == Self.login,
            aal: only(Name.aal).flatMap { text in AssuranceLevel.demandable.first { $0.rawValue == text } },
            maxAge: maxAge,
            loginHint: only(Name.loginHint),
            providers: Array(query.filter { $0.name == Name.provider }.map(\.value).prefix(Self.maxProviders))
        )
    }

    /// The query parameters that express the demand.
    var parameters: [(name: String, value: String)] {
        var parameters: [(name: String, value: String)] = []
        if self.isAgain { parameters.append((Name.prompt, Self.login)) }
        if let aal = self.aal { parameters.append((Name.aal, aal.rawValue)) }
        if let maxAge = self.maxAge { parameters.append((Name.maxAge, String(maxAge.components.seconds))) }
        if let hint = self.loginHint { parameters.append((Name.loginHint, hint)) }
        parameters += self.providers.map { (Name.provider, $0) }
        return parameters
    }
}
