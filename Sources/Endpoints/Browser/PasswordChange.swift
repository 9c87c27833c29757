package import Pages
import Vocabulary

/// `/.well-known/change-password` (W3C A Well-Known URL for Changing Passwords), for password managers.
package enum PasswordChange {
    private static let path = "/.well-known/change-password"

    /// Returns the endpoint that redirects to `pages.change_password_url`. `nil` if the key is not set.
    package static func endpoint(by design: PageDesign) -> Endpoint? {
        guard let url = design.changePasswordURL else { return nil }
        return Endpoint(path: self.path, methods: ["GET", "HEAD"], scope: .everyHost, bodyLimit: 0) { _ in
            .seeOther(url)
        }
    }
}
