package com.example.app

import android.content.Context
import android.net.Uri
import androidx.activity.ComponentActivity
import androidx.browser.auth.AuthTabIntent
import androidx.browser.customtabs.CustomTabsIntent

/**
 * The system's browser, in which password managers, passkeys and single sign-on work: an Auth Tab, or a Custom Tab where the
 * browser has none. Make it in the activity's `onCreate`.
 *
 * An https callback needs the app in `https://HOST/.well-known/assetlinks.json`. A callback of any kind needs the intent filter in
 * AndroidManifest.xml, by which a Custom Tab comes back, and the activity's launch mode `singleTask`.
 *
 * @param back gets the URL with which the browser comes back: pass it to `AppSession.finishSignIn`. A closed Custom Tab may be
 *   reported before its URL arrives, so `Cancelled` only means that there is nothing to wait for now.
 */
class SystemBrowser(activity: ComponentActivity, callback: String, private val back: (Result<String>) -> Unit) {
    private val callback = Uri.parse(callback)

    private val tabs = AuthTabIntent.registerActivityResultLauncher(activity) { result ->
        val url = result.resultUri
        back(
            when (result.resultCode) {
                AuthTabIntent.RESULT_OK ->
                    if (url != null) Result.success(url.toString()) else Result.failure(GatewayException.Cancelled())
                AuthTabIntent.RESULT_VERIFICATION_FAILED ->
                    Result.failure(GatewayException.Refused("the callback is not this app's: see assetlinks.json"))
                AuthTabIntent.RESULT_VERIFICATION_TIMED_OUT ->
                    Result.failure(GatewayException.Unavailable("the callback could not be verified"))
                else -> Result.failure(GatewayException.Cancelled())
            },
        )
    }

    init {
        // After the system has ended the app, it is started with the URL. A turned screen must not bring it again.
        arrived(activity.intent?.data)
        activity.intent?.setData(null)
        activity.addOnNewIntentListener { arrived(it.data) }
    }

    private fun arrived(url: Uri?) {
        if (url != null && url.toString().substringBefore('?') == callback.toString()) back(Result.success(url.toString()))
    }

    fun open(page: String) {
        val tab = AuthTabIntent.Builder().build()
        val host = callback.host
        if (callback.scheme == "https" && host != null) {
            tab.launch(tabs, Uri.parse(page), host, callback.path ?: "/")
        } else {
            tab.launch(tabs, Uri.parse(page), callback.scheme ?: "")
        }
    }
}

/** Opens a page of the web app in a Custom Tab, signed in: its cookies are the browser's, so the token is in the query. */
suspend fun WebApp.openInTab(context: Context, target: String, session: AppSession) {
    CustomTabsIntent.Builder().build().launchUrl(context, Uri.parse(page(target, session.transferToken())))
}
