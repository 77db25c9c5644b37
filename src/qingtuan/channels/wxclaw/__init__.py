"""WeChat by Tencent's iLink: private chat with whoever scanned the code of `qingtuan login wechat`. No groups."""
