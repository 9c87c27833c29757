package com.example.app

import android.content.ActivityNotFoundException
import android.content.Intent
import android.webkit.CookieManager
import android.webkit.WebResourceError
import android.webkit.WebResourceRequest
import android.webkit.WebStorage
import android.webkit.WebView
import android.webkit.WebViewClient
import androidx.webkit.WebViewCompat
import androidx.webkit.WebViewFeature
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.launch

/**
 * Shows pages of the web app, in which the app's user is signed in, and stays signed in when the web session ends.
 *
 * @param scope the activity's `lifecycleScope`, which runs on the main thread
 */
class WebAppView(
    private val view: WebView,
    private val app: WebApp,
    private val session: AppSession,
    private val scope: CoroutineScope,
    private val screen: Screen,
) {
    /** What the app shows in place of a page. */
    interface Screen {
        /** The user is signed out: the app's sign-in. */
        fun signIn()

        /** No network, or the gateway is away: a button that calls [again]. */
        fun tryAgain(again: () -> Unit)
    }

    private var tries = Tries()
    private var target = "/"
    /** Old WebViews have no such listener. */
    private val hears = WebViewFeature.isFeatureSupported(WebViewFeature.WEB_MESSAGE_LISTENER)

    init {
        view.settings.javaScriptEnabled = true
        view.settings.domStorageEnabled = true
        // Without a client the system's browser would get the redirect after the handoff, and it has no cookie.
        view.webViewClient = Client()
        if (hears) {
            // Only pages of this origin get the object `sallyport`, unlike with addJavascriptInterface.
            WebViewCompat.addWebMessageListener(view, "sallyport", setOf(app.origin)) { _, message, _, isMainFrame, _ ->
                val challenged = message.data?.let { app.challenged(it) }
                if (isMainFrame && challenged != null) open(challenged)
            }
        }
    }

    /** Opens a path and query of the web app with a new token. */
    fun open(target: String) {
        this.target = target
        scope.launch {
            try {
                if (!tries.next()) throw GatewayException.Refused("too many tries")
                val token = session.transferToken()
                val cookies = CookieManager.getInstance()
                if (hears) cookies.setCookie(app.origin, app.announcement)
                cookies.setCookie(app.origin, app.cookie(token))
                view.loadUrl(app.origin + target)
            } catch (_: GatewayException.SignedOut) {
                screen.signIn()
            } catch (_: GatewayException.Unavailable) {
                offerToTryAgain()
            } catch (_: GatewayException) {
                view.loadUrl(app.signInPage(target))
            }
        }
    }

    private fun offerToTryAgain() = screen.tryAgain {
        tries = Tries()
        open(target)
    }

    private inner class Client : WebViewClient() {
        override fun shouldOverrideUrlLoading(view: WebView, request: WebResourceRequest): Boolean {
            val url = request.url.toString()
            if (!request.isForMainFrame) return false
            if (app.contains(url)) {
                val target = if (hears) null else app.signInTarget(url)
                if (target != null) open(target)
                return target != null
            }
            // A provider's page, to which the web app leads.
            if (request.isRedirect) return false
            // Links to other sites open in the browser, which says where the user is.
            try {
                view.context.startActivity(Intent(Intent.ACTION_VIEW, request.url))
            } catch (_: ActivityNotFoundException) {
                // No app opens such a link.
            }
            return true
        }

        override fun onReceivedError(view: WebView, request: WebResourceRequest, error: WebResourceError) {
            if (!request.isForMainFrame) return
            val url = request.url.toString()
            if (app.contains(url)) target = url.removePrefix(app.origin).ifEmpty { "/" }
            offerToTryAgain()
        }
    }

    companion object {
        /** Removes what the WebViews keep of all users: after the sign-out, which may not have reached the gateway. */
        fun forgetPages() {
            CookieManager.getInstance().removeAllCookies(null)
            WebStorage.getInstance().deleteAllData()
        }
    }
}
