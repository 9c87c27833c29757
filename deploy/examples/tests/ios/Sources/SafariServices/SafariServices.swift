import UIKit

public final class SFSafariViewController: UIViewController {
    public let url: URL
    public init(url: URL) {
        self.url = url
        super.init(nibName: nil, bundle: nil)
    }
    public required init?(coder: NSCoder) { nil }
}
