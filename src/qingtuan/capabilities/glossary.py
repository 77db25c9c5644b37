"""English words for Chinese ones, as far as tools are about them.

Most tools are described in English. A request in Chinese shares no word with them, and a multilingual model alone finds
too few (docs/reference/bench.md). So the English of what a request names is put behind it. A plain dictionary of things
and acts: a line is one English word or two with the Chinese words for it; names and turns of phrase do not belong here.
"""

from __future__ import annotations

from functools import cache

_WORDS = """
flight: 航班, 机票, 飞机, 直飞, 航空, 班机, 飞往
airport: 机场, 登机, 航站楼
arrival: 降落, 落地, 抵达, 到达
departure: 起飞, 出发
delay: 晚点, 延误, 准点
train: 火车, 高铁, 动车, 列车, 铁路
ticket: 车票, 余票, 票价, 买票, 门票, 订票
hotel: 酒店, 宾馆, 民宿, 旅馆, 住宿, 客栈
taxi: 打车, 出租车, 网约车, 叫车, 专车
driver: 司机
bus: 公交, 巴士, 大巴
shuttle: 班车, 校车
subway: 地铁, 轻轨
transit: 公共交通, 换乘
route: 路线, 怎么走, 怎么去, 导航
traffic: 路况, 堵车, 拥堵
nearby: 附近, 周边
coordinates: 经纬度, 坐标
location: 定位, 位置
address: 地址, 住址
parking: 停车, 车位
weather: 天气
forecast: 预报
rain: 下雨, 雨伞, 带伞, 暴雨
temperature: 气温, 温度, 降温
snow: 下雪, 降雪
wind: 刮风, 台风, 大风
air quality: 空气, 雾霾, 污染
passport: 护照
visa: 签证
luggage: 行李
electricity: 电费, 电量, 用电, 电表
balance: 余额
recharge: 充值, 缴费, 充钱
laundry: 洗衣, 烘干
washing machine: 洗衣机
dormitory: 宿舍, 寝室
campus: 校园, 大学, 学校, 校区
library: 图书馆, 阅览室, 自习室
book: 图书, 书籍
loan: 借阅, 借书
renew: 续借, 续期, 延期, 延长
reserve: 预约, 预订, 预定, 订位, 占座, 订座
seat: 座位
assignment: 作业, 功课
grade: 成绩, 绩点, 分数
exam: 考试, 期末
timetable: 课表, 课程表
class: 上课, 有课, 课程
teacher: 老师, 导师, 教授, 教师
student: 学生, 同学
canteen: 食堂, 饭堂
menu: 菜单
repair: 报修, 维修, 修理
pull request: 合并请求, 拉取请求
commit: 提交
branch: 分支
repository: 仓库, 代码库
code: 代码, 源码
workflow: 流水线, 工作流
build: 构建, 编译
restart: 重启
rerun: 重跑, 重试, 重新运行
author: 作者
bug: 缺陷, 漏洞
issue: 议题, 问题单, 工单
status: 状态
complete: 完成, 做完
sprint: 迭代, 冲刺
error: 报错, 异常, 错误
crash: 崩溃, 闪退
stack trace: 堆栈, 调用栈
log: 日志
metric: 指标, 负载
monitoring: 监控
latency: 延迟, 响应时间
alert: 告警, 报警, 警报
incident: 故障, 事故, 宕机
on call: 值班
container: 容器, 镜像
replica: 副本
scale: 扩容, 缩容
deployment: 部署, 上线, 发版
release: 发布, 发行
rollback: 回滚, 退回, 回退
cost: 费用, 成本, 开销, 花费
bill: 账单
bucket: 存储桶, 对象存储
link: 链接
url: 网址
website: 网站, 官网
temporary: 临时
cache: 缓存
purge: 刷新, 清除
domain: 域名
dns: 解析
certificate: 证书
expiry: 过期, 到期, 有效期
server: 服务器, 云主机, 主机
database: 数据库
table: 数据表, 表格
query: 查询
execution plan: 执行计划
performance: 性能, 优化
backup: 备份
screenshot: 截图, 截屏
form: 表单, 填表
fill: 填写
web page: 网页, 页面
text: 正文, 文本, 文字
article: 文章
paper: 论文
reference: 文献, 引用
email: 邮件, 邮箱, 来信
send: 发送, 发给
message: 消息
channel: 频道, 群里
event: 日程
calendar: 日历
meeting: 会议, 开会
meeting room: 会议室
free time: 有空, 空闲, 空档
reminder: 提醒
invitation: 邀请
attendee: 参会, 参加
document: 文档, 文稿
create: 新建, 创建, 建个
add: 新增, 添加, 加上
note: 笔记, 随笔
journal: 日记, 日志本
append: 追加, 补充
board: 看板
task: 任务, 待办
share: 分享, 共享
permission: 权限
file: 文件
folder: 文件夹, 目录
disk: 硬盘, 磁盘
computer: 电脑
compress: 压缩, 打包
chart: 图表, 柱状图, 折线图, 饼图
spreadsheet: 电子表格, 工作表
merge: 合并, 拼接
ocr: 扫描, 文字识别
translate: 翻译, 译成
french: 法语
japanese: 日语
english: 英语, 英文
design: 设计稿, 设计图
icon: 图标
export: 导出
download: 下载
upload: 上传
image: 图片, 图像
photo: 照片
background: 背景, 抠图
draw: 绘制, 画画, 画一, 画个, 画张
generate: 生成
speech: 语音, 朗读
recording: 录音, 音频
transcribe: 转写, 听写, 转文字, 转成文字
subtitles: 字幕
qr code: 二维码
shorten: 短链, 短网址, 缩短
refund: 退款, 退钱
return: 退货
invoice: 发票, 开票
payment: 付款, 支付, 收款
currency: 货币, 美元, 日元, 欧元, 英镑, 人民币
exchange rate: 汇率, 换算
stock: 股票, 股价
fund: 基金
bitcoin: 比特币
cryptocurrency: 加密货币, 以太坊
price: 价格, 多少钱, 价位, 便宜
expense: 记账, 支出, 开支
split: 平摊, 分摊
tax: 个税, 税后, 缴税
salary: 工资, 薪资, 月薪, 年薪
subscription: 订阅
membership: 会员
order: 订单, 下单
coupon: 优惠券
discount: 折扣, 打折
inventory: 库存
parcel: 快递, 包裹
tracking: 物流
courier: 骑手, 快递员
light: 灯光, 台灯, 吊灯, 开灯, 关灯, 的灯, 厅灯
brightness: 亮度, 调暗, 调亮
air conditioner: 空调, 冷气
heating: 暖气, 地暖
robot vacuum: 扫地机, 扫地
camera: 摄像头
door: 门口, 大门
curtain: 窗帘
lock: 门锁, 锁门
music: 音乐, 听歌, 放歌
song: 歌曲, 首歌
playlist: 歌单
lyrics: 歌词
play: 播放
identify: 识别
video: 视频, 录像
live stream: 直播
movie: 电影, 影片, 片子
recommend: 推荐
similar: 类似, 相似
cinema: 影院, 电影院
showtimes: 场次, 排片
restaurant: 餐厅, 餐馆, 饭店
food: 食物, 美食
recipe: 菜谱, 食谱, 做菜
ingredients: 食材
calories: 热量, 卡路里, 大卡
nutrition: 营养
sleep: 睡眠, 睡觉
running: 跑步
workout: 健身, 锻炼, 运动
heart rate: 心率, 心跳
weight: 体重
hospital: 医院, 挂号
doctor: 医生, 看病
department: 科室
drug: 药物, 吃药, 药品
prescription: 处方
interaction: 相互作用
phone number: 电话, 手机号, 号码
contact: 通讯录, 联系人, 联系方式
sms: 短信
news: 新闻
headlines: 头条
leave: 请假, 年假, 休假
holiday: 放假, 节假日
score: 比分
match: 比赛, 球赛
trending: 热搜, 热门, 热点
survey: 问卷, 调查
responses: 答卷, 回收, 回答
visitors: 访问量, 访客
analytics: 流量, 统计
customer: 客户, 顾客
password: 密码
user: 用户
account: 账号, 账户
delete: 删除, 删掉
update: 更新, 修改
list: 列出, 列表
cancel: 取消
pin: 置顶
approve: 批准, 审批
label: 标签
comment: 评论, 留言
reply: 回复
follow: 关注
mute: 静音, 免打扰
pause: 暂停
compare: 比较, 对比
convert: 转换, 转成
print: 打印
sign: 签名, 签字, 签署
fine: 罚款, 违章
lab result: 化验, 抽血, 体检
payslip: 工资条
interview: 面试
recruiting: 招聘
candidate: 候选人
rental: 租房, 租金, 房租
lease: 租约
house: 房源, 买房
bike: 自行车, 骑车, 单车, 骑行
elevation: 海拔
sunset: 日落
sunrise: 日出
storage: 空间, 存储
restore: 恢复, 还原, 找回
trash: 回收站
pronunciation: 发音
dictionary: 词典, 释义
member: 成员
team: 团队
insurance: 保险
contract: 合同
time zone: 时区
hash: 哈希
checksum: 校验
encoding: 编码, 解码
unit: 单位
calculate: 计算
memory: 记忆
remember: 记住
forget: 忘掉
bookmark: 书签, 收藏
clipboard: 剪贴板
notification: 通知
history: 历史, 记录
report: 报告, 报表
schedule: 定时
search: 搜索, 查找
game: 游戏

"""


def english(text: str) -> list[str]:
    """The English for the Chinese words in `text`, each once, in the order of the dictionary."""
    return [word for word, chinese in _dictionary() if any(part in text for part in chinese)]


@cache
def _dictionary() -> tuple[tuple[str, tuple[str, ...]], ...]:
    lines = (line.partition(": ") for line in _WORDS.strip().splitlines())
    return tuple((word, tuple(chinese.split(", "))) for word, _, chinese in lines)
