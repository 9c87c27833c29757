@_exported import Foundation

#if canImport(FoundationNetworking)
@_exported import FoundationNetworking
#endif

/// Says what the phone would do: one JSON object a line.
public func say(_ members: [String: Any?]) {
    let members = members.mapValues { $0 ?? NSNull() }
    guard let data = try? JSONSerialization.data(withJSONObject: members, options: .withoutEscapingSlashes) else {
        return
    }
    FileHandle.standardOutput.write(data + [10])
}

public typealias CGRect = Foundation.NSRect
extension CGRect { public static var zero: CGRect { CGRect(x: 0, y: 0, width: 0, height: 0) } }

@MainActor open class UIView { public init() {} }
open class UIWindow: UIView {}

@MainActor open class UIViewController {
    public var view: UIView? {
        get {
            self.load()
            return self.loaded
        }
        set { self.loaded = newValue }
    }
    private var loaded: UIView?
    public private(set) var presented: UIViewController?

    public init(nibName: String?, bundle: Bundle?) {}
    public required init?(coder: NSCoder) { nil }
    open func loadView() { self.loaded = UIView() }
    open func viewDidLoad() {}
    public func present(_ controller: UIViewController, animated: Bool, completion: (() -> Void)?) {
        self.presented = controller
        if controller is UIAlertController { say(["tryAgain": true]) }
    }

    private func load() {
        guard self.loaded == nil else { return }
        self.loadView()
        self.viewDidLoad()
    }
}

@MainActor public final class UIAlertAction {
    public enum Style: Sendable { case `default`, cancel }
    public let style: Style
    public let handler: (@MainActor (UIAlertAction) -> Void)?

    public init(title: String?, style: Style, handler: (@MainActor (UIAlertAction) -> Void)?) {
        self.style = style
        self.handler = handler
    }
}

public final class UIAlertController: UIViewController {
    public enum Style: Sendable { case alert }
    public private(set) var actions: [UIAlertAction] = []

    public init(title: String?, message: String?, preferredStyle: Style) { super.init(nibName: nil, bundle: nil) }
    public required init?(coder: NSCoder) { nil }
    public func addAction(_ action: UIAlertAction) { self.actions.append(action) }
}

@MainActor public final class UIApplication {
    public static let shared = UIApplication()
    @discardableResult public func open(_ url: URL) async -> Bool { true }
}
