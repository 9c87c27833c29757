package import Pages
import Vocabulary

/// `/.well-known/change-password` (W3C A Well-Known URL for Changing Passwords): password managers send their users there.
package enum PasswordChange {
    private static let path = "/.well-known/change-password"

    /// 303 to `pages.change_password_url`; nil if there is none, and the path is the app's.
    package static func endpoint(by design: PageDesign) -> Endpoint? {
        guard let url = design.changePasswordURL else { return nil }
        return Endpoint(path: self.path, methods: ["GET", "HEAD"], scope: .everyHost, bodyLimit: 0) { _ in
            .seeOther(url)
        }
    }
}
