import Calls
import Providers

/// Messages about the provider. Quotations from it are limited to 120 characters of printable ASCII.
enum ProviderWords {
    /// Explains why a call got no answer, and what to do.
    static func failure(_ error: CallError) -> String {
        let fix =
            switch error.cause {
            case .name: "is the name right, and does this machine's DNS know it?"
            case .connection: "are host and port right, and does a firewall allow it?"
            case .proxy: "see its log, and the user and password in http_proxy or in the variable"
            case .certificate: "set ca_file to its authority"
            case .certificateName: "write the name in the certificate, or give the server a certificate for this name"
            case .notTLS: "does the server speak https on this port?"
            case .tls: "does the server speak TLS 1.2 or later?"
            case .time: "is it overloaded, or does a firewall drop packets?"
            case .size, .other: ""
            }
        return fix.isEmpty ? error.detail : "\(error.detail): \(fix)"
    }

    /// Explains an unexpected status.
    ///
    /// - Parameter isDocument: True if the call was for a public document.
    static func status(_ answer: CallAnswer, forDocument isDocument: Bool = false) -> String {
        let words = "answers with status \(answer.status)"
        switch answer.status {
        case 300..<400:
            let location = answer.field("location").map { " to \(self.short($0))" } ?? ""
            return "\(words): it redirects\(location), which is not followed; use the URL that answers"
        case 404 where isDocument: return "\(words): is the issuer complete, with the path of its realm or tenant?"
        case 404: return "\(words): is the URL right?"
        case 401 where isDocument, 403 where isDocument:
            return "\(words): it must be public, or is something in front of it?"
        case 429: return "\(words): it has received too many requests; try again later"
        case 500...599: return "\(words): see its log"
        default: return words
        }
    }

    /// Returns an error code (RFC 6749 5.2) for a message.
    static func code(_ error: String) -> String { self.short(error) }

    /// Says what to do about an error code.
    static func fix(of error: String) -> String {
        switch error {
        case "invalid_scope": "write scopes that the provider allows for this client"
        case "unauthorized_client": "allow the authorization code flow for this client at the provider"
        case "unsupported_response_type": "allow the response type code for this client at the provider"
        case "redirect_uri_mismatch": "register the redirect URI there"
        case "invalid_request", "request_not_supported": "see the provider's log for what is missing"
        case "access_denied": "the provider refuses every user: see its rules for this client"
        default: "see the provider's log"
        }
    }

    /// Returns up to ten names, e.g. `RS256, ES256`.
    static func list(_ names: [String]) -> String {
        let shown = names.prefix(10).map(self.short).joined(separator: ", ")
        return names.count > 10 ? "\(shown), ..." : shown
    }

    private static func short(_ text: String) -> String {
        let visible = text.unicodeScalars.filter { (0x20...0x7E).contains($0.value) }
        let shown = String(String.UnicodeScalarView(visible.prefix(120)))
        return visible.count > 120 ? "\(shown)..." : shown
    }
}
